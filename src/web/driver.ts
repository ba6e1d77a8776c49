import { allowSound, keepAwake, ring } from './driver-alert.ts';
import { DriverApi } from './driver-api.ts';
import { followDialogs } from './driver-dialogs.ts';
import { HandoverPhoto } from './driver-handover.ts';
import { ringNoMore, ringWhenClosed } from './driver-push.ts';
import { isResting } from './driver-rest.ts';
import { Session } from './driver-session.ts';
import { type LinkResult, signInByLink, signInByText } from './driver-sign-in.ts';
import type { Action, ActionKind } from './driver-state.ts';
import { type DriverStore, kept, openStore } from './driver-store.ts';
import { announce, byId, idleOf, render, type Screen } from './driver-view.ts';
import { orderWords, refusalWords, waitingWords } from './driver-words.ts';
import { useWorker } from './driver-worker-client.ts';

/** Time without an answer after which an action is shown as waiting; sooner it would only flicker. */
const SHOW_WAITING_MS = 3_000;
const REFRESH_AGE_MS = 10_000;

let screen: Screen = 'none';
let session: Session | null = null;
let refusal: string | null = null;
let said = '';
let photo: HandoverPhoto;
let store: DriverStore;

function show(): void {
  const shown = session?.shown ?? { order: null, ended: null };
  const connected = session?.linkState === 'live' || session?.linkState === 'replaced';
  const toldMs = session?.positionToldMs ?? null;
  const slow = slowActions();
  render({
    screen,
    link: session?.linkState ?? 'connecting',
    shown,
    onDuty: session?.onDuty ?? false,
    dutyWaits: session?.dutyWaits ?? false,
    problem: session?.problem ?? null,
    positionAgeMs: toldMs === null ? null : performance.now() - toldMs,
    waiting: waitingWords(slow, connected),
    late: slow.length > 0,
    finished: session?.finished ?? null,
    refusal,
    photo: photo.of(shown.order),
  });
  sayChange(slow.length > 0);
}

/** The waiting actions, once the first one has waited long enough to be shown. */
function slowActions(): readonly Action[] {
  const waiting = session?.waiting ?? [];
  const offline = session?.linkState === 'offline';
  const oldestMs = Date.parse(waiting[0]?.capturedAt ?? '');
  const young = !offline && Math.abs(Date.now() - oldestMs) < SHOW_WAITING_MS;
  if (young) setTimeout(show, SHOW_WAITING_MS);
  return young ? [] : waiting;
}

/** Announces the driver's next step to screen readers when it has changed. */
function sayChange(late: boolean): void {
  if (!session || screen !== 'work') return;
  const { shown, onDuty, problem } = session;
  const words = shown.order ? orderWords(shown.order, false) : null;
  const now = words ? `${words.step} ${words.headline}` : idleOf({ shown, late, onDuty, problem }).headline;
  const done = byId('finished').hidden || words ? '' : byId('finished').textContent;
  const text = [done, now, byId('waiting').textContent].filter(Boolean).join('. ');
  if (text !== said) announce(text);
  said = text;
}

async function enter(token: string, state: ReturnType<typeof kept.state>): Promise<void> {
  screen = 'work';
  refusal = null;
  session?.stop();
  session = new Session(token, state, store, {
    changed() {
      if (session?.linkState === 'replaced') screen = 'replaced';
      void keepAwake(screen === 'work' && (session?.onDuty ?? false));
      show();
    },
    newOrder: ring,
    orderLost(order) {
      void photo.forget();
      refusal = `The order at ${order.store_name} is no longer yours. It was cancelled or given to another driver.`;
    },
    refused(action, message) {
      refusal = refusalWords(action, message);
    },
    signedOut: () => leave('You were signed out because your token is no longer valid. Please ask for a new one.'),
    notKept() {
      refusal = 'This phone could not save what you did. Do not close this page before it is sent.';
    },
  });
  show();
  void ringWhenClosed(token, false);
  await session.start();
  show();
}

/** Returns to the sign-in. Unsent actions stay on the phone for the next sign-in with a valid token. */
function leave(why: string): void {
  session?.stop();
  session = null;
  kept.signOut();
  void keepAwake(false);
  screen = 'sign-in';
  refusal = null;
  show();
  byId('sign-in-problem').textContent = why;
}

async function signIn(event: Event): Promise<void> {
  event.preventDefault();
  allowSound();
  const field = byId<HTMLInputElement>('token');
  const button = byId<HTMLButtonElement>('sign-in-button');
  const token = field.value.trim();
  button.disabled = true;
  const link = await signInByText(token);
  if (link) {
    button.disabled = false;
    return enterByLink(link);
  }
  // Only printable ASCII can stand in a header.
  const answer = /^[\x21-\x7e]+$/.test(token) ? await new DriverApi(token).state() : { kind: 'signed_out' as const };
  button.disabled = false;
  if (answer.kind !== 'ok') {
    const unknown = 'This token is not known. Please check that it is complete.';
    const noAnswer = 'No answer from the service. Please check your network and try again.';
    byId('sign-in-problem').textContent = answer.kind === 'signed_out' ? unknown : noAnswer;
    field.focus();
    return;
  }
  field.value = '';
  byId('sign-in-problem').textContent = '';
  kept.signIn(token);
  const { on_duty, order } = answer.value;
  kept.keepState({ on_duty, order });
  // Asks the browser not to delete unsent actions.
  void navigator.storage?.persist?.().catch(() => false);
  await enter(token, { on_duty, order });
}

/** Signs in with the token of a link, which cannot be had again, or shows what is wrong with the link. */
async function enterByLink(link: LinkResult): Promise<void> {
  byId('sign-in-problem').textContent = 'problem' in link ? link.problem : '';
  if ('problem' in link) return;
  byId<HTMLInputElement>('token').value = '';
  kept.signOut();
  kept.signIn(link.token);
  await enter(link.token, null);
}

async function press(kind: string): Promise<void> {
  if (isResting(byId('primary'))) return;
  allowSound();
  if (kind === 'on-duty') {
    session?.setDuty(true);
    void ringWhenClosed(kept.token() ?? '', true);
    return;
  }
  const { order } = session?.shown ?? {};
  const taken = kind === 'deliver' && order ? photo.take(order) : null;
  if (kind === 'deliver' && !taken) return;
  await session?.act(kind as ActionKind, taken ? { photo: taken } : {});
  if (taken || kind === 'return') await photo.forget();
  show();
}

async function signOut(): Promise<void> {
  void ringNoMore(kept.token() ?? '');
  await session?.discard();
  await photo.forget();
  leave('');
}

function listen(): void {
  byId('sign-in-form').addEventListener('submit', (event) => void signIn(event));
  byId('primary').addEventListener('click', () => void press(byId('primary').dataset.kind ?? ''));
  byId('duty-off').addEventListener('click', () => session?.setDuty(false));
  byId('camera').addEventListener('click', (event) => isResting(byId('camera')) && event.preventDefault());
  byId('use-here').addEventListener('click', () => void enter(kept.token() ?? '', kept.state()));
  byId('refusal-ok').addEventListener('click', () => {
    refusal = null;
    show();
  });
  followDialogs({
    give: (kind, reason) =>
      void session
        ?.act(kind, { reason })
        .then(() => photo.forget())
        .then(show),
    leave: () => void signOut(),
    owes: () => (session?.waiting.length ?? 0) > 0,
  });
  window.addEventListener('online', () => session?.wake());
  window.addEventListener('offline', () => session?.wentOffline());
  window.addEventListener('pageshow', (event) => event.persisted && session?.wake());
  document.addEventListener('visibilitychange', () => {
    if (document.visibilityState !== 'visible') return;
    session?.wake();
    void keepAwake(session?.onDuty ?? false);
  });
  setInterval(() => document.visibilityState === 'visible' && show(), REFRESH_AGE_MS);
}

async function main(): Promise<void> {
  byId('insecure').hidden = window.isSecureContext;
  store = await openStore();
  photo = new HandoverPhoto(store, show, (problem) => {
    refusal = problem;
    show();
  });
  await photo.open();
  listen();
  useWorker();
  const link = await signInByLink();
  const token = link && 'token' in link ? null : kept.token();
  if (token !== null) return enter(token, kept.state());
  screen = 'sign-in';
  show();
  if (link) await enterByLink(link);
}

void main();
