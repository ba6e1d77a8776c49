import { below, PROOF_DROPOFF_METERS } from '../../limits.ts';
import { byId } from '../shared/dom.ts';
import { allowSound, isMute, keepAwake, ring } from './alert.ts';
import { DriverApi } from './api.ts';
import { clockAheadMs, nowMs, startClock } from './clock.ts';
import { ask, followDialogs, followQuestions } from './dialogs.ts';
import { HandoverPhoto } from './handover.ts';
import { say, translateMarkup } from './language.ts';
import type { Screen } from './model.ts';
import { ringNoMore, ringWhenClosed } from './push.ts';
import { isResting } from './rest.ts';
import { type Fix, farFromDoor } from './route.ts';
import { Session } from './session.ts';
import { codeInAddress, forgetLink, type LinkResult, signInByLink, signInByText } from './sign-in.ts';
import { type Action, type ActionKind, type DriverOrder, type DriverState, type Stop, stateOf } from './state.ts';
import { giveUpOf, type Next, nextOf, primaryOf, stopWords } from './stop-words.ts';
import { becomeWriter, type DriverStore, kept, openStore } from './store.ts';
import { announce, idleOf, render } from './view.ts';
import {
  clockWords,
  distanceWords,
  gainedWords,
  leftBehindWords,
  lostWords,
  refusalWords,
  waitingWords,
} from './words.ts';
import { useWorker } from './worker-client.ts';

/**
 * Distance from the door, beyond what the fix is off, at which a driver's page asks whether they hand over
 * there. Above PROOF_DROPOFF_METERS and below DOOR_FAR_METERS, which holds the payout.
 */
const HANDOVER_ASK_METERS = 300;

/* @__PURE__ */ below({ PROOF_DROPOFF_METERS }, { HANDOVER_ASK_METERS });

/** Time without an answer after which an action is shown as waiting; sooner it would only flicker. */
const SHOW_WAITING_MS = 3_000;
const REFRESH_AGE_MS = 10_000;
/** Age of a position at which it says nothing of the door at which a driver stands. */
const FIX_MS = 60_000;
/** For how many hours a driver may go on duty, beside as long as they like. */
const DUTY_HOURS = [1, 2, 4, 8];
const HOUR_MS = 3_600_000;
const NOTHING = { orders: [], stops: [], ended: null };

let screen: Screen = 'none';
let session: Session | null = null;
/** What the driver is told until they have seen it, the oldest first, beside what the service refused. */
let notices: readonly string[] = [];
/** On the sign-in page: what waits on this phone for its driver. */
let leftBehind: readonly Action[] = [];
let gained: string | null = null;
let said = '';
let photo: HandoverPhoto;
let store: DriverStore;
/** The orders of the next stop whose parcels the driver has ticked. */
const ticked = new Set<string>();

/** The next stop as it is shown. */
function nextStop(): Next | null {
  if (!session) return null;
  const { shown, door } = session.orders;
  return nextOf(shown.stops, shown.orders, door?.orderId ?? null);
}

function show(): void {
  const shown = session?.orders.shown ?? NOTHING;
  const connected = session?.linkState === 'live' || session?.linkState === 'replaced';
  const slow = slowActions();
  const next = nextStop();
  const door = next?.atDoor ? next.orders[0] : null;
  const refused = session?.queue.refused[0];
  const isLost = refused && !session?.orders.state.orders.some(({ id }) => id === refused.orderId);
  render(say, {
    screen,
    link: session?.linkState ?? 'connecting',
    name: session?.orders.state.driver_name ?? null,
    shown,
    doorOrderId: door?.id ?? null,
    ticked,
    onDuty: session?.onDuty ?? false,
    onDutyUntil: session?.orders.state.on_duty_until ?? null,
    dutyWaits: session?.dutyWaits ?? false,
    waitAt: session?.waitAt ?? null,
    isMute: isMute(),
    problem: session?.problem ?? null,
    fix: freshFix(),
    positionAgeMs: session?.sentFix ? ageOf(session.sentFix.takenMs) : null,
    waiting: session?.queue.isUnkept ? say('notKept') : waitingWords(say, slow, connected),
    late: slow.length > 0,
    finished: session?.finished ?? null,
    clock: clockWords(say, clockAheadMs()),
    refusal: refused ? refusalWords(say, refused, isLost ? refused.storeName : null) : (notices[0] ?? null),
    refusedId: refused?.id ?? null,
    photos: (refused ? [refused] : leftBehind).filter((action) => action.photo !== null),
    leftBehind: leftBehindWords(say, leftBehind),
    gained,
    photo: photo.of(door),
    day: session?.day ?? null,
  });
  sayChange(next, slow.length > 0);
}

/** Time since the phone's clock showed `ms`, which is that of the phone's positions too. */
function ageOf(ms: number): number {
  return Math.max(0, Date.now() - ms);
}

function freshFix(): Fix | null {
  const sent = session?.sentFix;
  return sent && ageOf(sent.takenMs) < FIX_MS ? sent.fix : null;
}

/** The waiting actions, once the first one has waited long enough to be shown. */
function slowActions(): readonly Action[] {
  const waiting = session?.queue.waiting ?? [];
  const offline = session?.linkState === 'offline';
  const oldestMs = Date.parse(waiting[0]?.capturedAt ?? '');
  const young = !offline && Math.abs(nowMs() - oldestMs) < SHOW_WAITING_MS;
  if (young) setTimeout(show, SHOW_WAITING_MS);
  return young ? [] : waiting;
}

/** Announces the driver's next step to screen readers when it has changed. */
function sayChange(next: Next | null, late: boolean): void {
  if (!session || screen !== 'work') return;
  const { onDuty, problem, waitAt } = session;
  const { shown } = session.orders;
  const words = next ? stopWords(say, next) : null;
  const now = words
    ? `${words.step} ${words.headline}`
    : idleOf(say, { shown, late, onDuty, problem, isMute: isMute(), waitAt }).headline;
  const done = byId('finished').hidden || words ? '' : byId('finished').textContent;
  const text = [gained, done, now, byId('waiting').textContent].filter(Boolean).join('. ');
  if (text !== said) announce(text);
  said = text;
}

async function enter(token: string, state: DriverState | null): Promise<void> {
  screen = 'work';
  notices = [];
  leftBehind = [];
  gained = null;
  session?.stop();
  becomeWriter();
  // Asks the browser not to delete unsent actions.
  void navigator.storage?.persist?.().catch(() => false);
  const entered = new Session(token, state, store, {
    changed() {
      if (session?.linkState === 'replaced') screen = 'replaced';
      stayAwake();
      show();
    },
    gained: tellGained,
    lost: tellLost,
    signedOut() {
      // The end of a token that the driver has left for another one.
      if (session !== entered) return;
      if (isKept(token)) kept.signOut();
      // The answer to a link was lost, with which the token died: its code gets the new one again. What only this page
      // has would be lost.
      if (codeInAddress() !== null && !entered.queue.isUnkept) location.reload();
      else leave(say('tokenRevoked'));
    },
  });
  session = entered;
  // An installed page may ring without a touch.
  allowSound(show);
  show();
  void ringWhenClosed(token, false);
  await entered.start();
  show();
}

/** Whether the phone keeps no other token: a sign-in in another tab stays, as its link gives no second token. */
function isKept(token: string): boolean {
  return (kept.token() ?? token) === token;
}

function tellGained(orders: readonly DriverOrder[], isFirst: boolean): void {
  // The first order is the screen itself.
  gained = isFirst ? null : gainedWords(say, orders);
  ring();
}

function tellLost(orders: readonly DriverOrder[]): void {
  for (const { id } of orders) {
    ticked.delete(id);
    if (photo.isFor(id)) void photo.forget();
  }
  tell(lostWords(say, orders));
}

/** Tells the driver something, once where they have not seen the same yet. */
function tell(text: string): void {
  if (!notices.includes(text)) notices = [...notices, text];
}

/** Keeps the screen on while the driver works: on duty, or with something to bring to its end. */
function stayAwake(): void {
  const works = session !== null && (session.onDuty || session.orders.shown.orders.length > 0);
  void keepAwake(screen === 'work' && works);
}

/** Returns to the sign-in. Unsent actions stay on the phone until their driver signs in again. */
function leave(why: string): void {
  session?.stop();
  session = null;
  notices = [];
  showSignIn();
  byId('sign-in-problem').textContent = why;
}

/** Shows the sign-in with what waits on this phone for its driver. */
function showSignIn(): void {
  screen = 'sign-in';
  leftBehind = store.added();
  stayAwake();
  show();
  void store.all().then((actions) => {
    if (screen !== 'sign-in') return;
    leftBehind = actions;
    show();
  });
}

async function signIn(event: Event): Promise<void> {
  event.preventDefault();
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
    byId('sign-in-problem').textContent = say(answer.kind === 'signed_out' ? 'tokenUnknown' : 'noAnswer');
    field.focus();
    return;
  }
  field.value = '';
  byId('sign-in-problem').textContent = '';
  kept.signIn(token);
  const state = stateOf(answer.value);
  kept.keepState(state);
  await enter(token, state);
}

/** Signs in with the token of a link, which cannot be had again, or shows what is wrong with the link. */
async function enterByLink(link: LinkResult): Promise<void> {
  byId('sign-in-problem').textContent = 'problem' in link ? link.problem : '';
  if ('problem' in link) {
    tell(link.problem);
    show();
    return;
  }
  byId<HTMLInputElement>('token').value = '';
  kept.signOut();
  kept.signIn(link.token);
  await enter(link.token, null);
}

/** A page that is open already is told of a link by its address alone. */
async function followLink(): Promise<void> {
  const code = codeInAddress();
  if (code === null) return;
  // Another link is on its way. Later what waits may be in this page alone, so that it is not loaded anew.
  if (screen === 'none') return location.reload();
  if (screen !== 'work') await goOnHere();
  if (session) askToSwitch(code);
  else await enterByLink(await signInByLink(code));
}

/** Asks before a link takes the place of who is signed in: whose it is, only its exchange says. */
function askToSwitch(code: string): void {
  const name = session?.orders.state.driver_name ?? null;
  const owes = (session?.queue.waiting.length ?? 0) > 0;
  const text = [name && say('signedInAs', { name }), say('switchText'), owes && say('leaveOwing')];
  const confirmed = async () => enterByLink(await signInByLink(code));
  ask('switch', text.filter(Boolean).join(' '), [], () => void confirmed(), forgetLink);
}

async function press(): Promise<void> {
  if (isResting(byId('primary'))) return;
  gained = null;
  const next = nextStop();
  if (!next) return goOnDuty();
  const [order] = next.orders;
  const primary = primaryOf(say, next, ticked, photo.isFor(order.id));
  if (!primary || primary.orderIds.length === 0) return;
  if (primary.kind === 'deliver') deliver(next.stop, order);
  else if (primary.kind !== 'arrive') await act(primary.kind, primary.orderIds);
}

function arrive(): void {
  const next = nextStop();
  if (!next || isResting(byId('arrive'))) return;
  gained = null;
  session?.arrive(next.orders[0].id);
}

async function act(kind: ActionKind, orderIds: readonly string[], reason?: string): Promise<void> {
  for (const id of orderIds) ticked.delete(id);
  await session?.act(kind, orderIds, reason === undefined ? {} : { reason });
  if (kind !== 'pick-up' && orderIds.some((id) => photo.isFor(id))) await photo.forget();
  show();
}

/** Hands over, or asks first where the driver seems to be elsewhere. Without a camera there is no photo. */
function deliver(stop: Stop, order: DriverOrder, hasCamera = true): void {
  const handOver = async () => {
    const taken = photo.take(order);
    if (!taken && hasCamera) return;
    // Frees the room that the action with the photo needs on a phone that is full.
    void photo.forget();
    await session?.act('deliver', [order.id], { photo: taken });
    show();
  };
  const meters = farFromDoor(freshFix(), stop, HANDOVER_ASK_METERS);
  if (meters === null) return void handOver();
  const name = order.dropoff.name ?? say('theCustomer');
  const text = say('farText', { distance: distanceWords(say, meters), name });
  ask('far', text, [order.id], () => void handOver());
}

/** Offers a handover that the operator looks at, so that a broken camera sends no parcel back. */
function deliverWithoutPhoto(): void {
  const next = nextStop();
  if (!next?.atDoor || isResting(byId('no-camera'))) return;
  const [order] = next.orders;
  ask('no-photo', say('noPhotoText'), [order.id], () => deliver(next.stop, order, false));
}

function goOnDuty(): void {
  const hours = Number(byId<HTMLSelectElement>('duty-hours').value);
  const until = hours > 0 ? new Date(nowMs() + hours * HOUR_MS).toISOString() : null;
  session?.setDuty({ onDuty: true, until });
  if (session) void ringWhenClosed(session.token, true);
}

/** Goes off duty or on again. Whoever has parcels on board is asked, as they keep them. */
function pressDuty(): void {
  if (isResting(byId('duty-off'))) return;
  if (byId('duty-off').dataset.wants === 'on') {
    session?.takeMore();
    return;
  }
  const stopOrders = () => session?.setDuty({ onDuty: false, until: null });
  const onBoard = (session?.orders.shown.orders ?? []).filter(({ status }) => status !== 'driver_assigned');
  if (onBoard.length === 0) {
    stopOrders();
    return;
  }
  const ids = onBoard.map(({ id }) => id);
  ask('last', say('lastText', { count: ids.length }), ids, stopOrders);
}

function tick({ target }: Event): void {
  if (!(target instanceof HTMLInputElement)) return;
  if (target.checked) ticked.add(target.value);
  else ticked.delete(target.value);
  show();
}

function goFirst({ target }: Event): void {
  const { kind, order: orderId } = (target as Element).closest('button')?.dataset ?? {};
  if (orderId !== undefined) session?.choose({ kind: kind as Stop['kind'], orderId });
}

/** The driver has seen what they were told. */
function pressOk(): void {
  if (isResting(byId('refusal-ok'))) return;
  const refused = session?.queue.refused[0];
  if (refused) void session?.queue.dismiss(refused.id);
  else notices = notices.slice(1);
  show();
}

/** Signs out, and takes nothing from the driver of another tab. */
async function signOut(): Promise<void> {
  if (session && isKept(session.token)) {
    void ringNoMore(session.token);
    void photo.forget();
    kept.signOut();
  }
  leave('');
}

/** Goes on in this tab as whoever the phone keeps: a link in another tab may have signed in another driver. */
async function goOnHere(): Promise<void> {
  const token = kept.token();
  if (token !== null) await enter(token, kept.state());
  else if (session) await enter(session.token, session.orders.state);
}

function listen(): void {
  byId('sign-in-form').addEventListener('submit', (event) => void signIn(event));
  byId('primary').addEventListener('click', () => void press());
  byId('arrive').addEventListener('click', arrive);
  byId('no-camera').addEventListener('click', deliverWithoutPhoto);
  byId('not-there').addEventListener('click', () => session?.leaveDoor());
  byId('duty-off').addEventListener('click', pressDuty);
  byId('parcels').addEventListener('change', tick);
  byId('stops').addEventListener('click', goFirst);
  byId('camera').addEventListener('click', (event) => isResting(byId('camera')) && event.preventDefault());
  byId('use-here').addEventListener('click', () => void goOnHere());
  byId('refusal-ok').addEventListener('click', pressOk);
  followDialogs(say, {
    giveUp() {
      const next = nextStop();
      return next && session ? giveUpOf(say, next, session.orders.shown.orders) : null;
    },
    give: (kind, orderIds, reason) => void act(kind, orderIds, reason),
    leave: () => void signOut(),
    owes: () => (session?.queue.waiting.length ?? 0) > 0,
    dutyWaits: () => session?.dutyWaits ?? false,
  });
  followQuestions();
  // An iPhone takes a touch of a mere text for no click.
  for (const touch of ['click', 'touchend']) document.addEventListener(touch, () => allowSound(show));
  window.addEventListener('hashchange', () => void followLink());
  window.addEventListener('online', () => session?.wake());
  window.addEventListener('offline', () => session?.wentOffline());
  window.addEventListener('pageshow', (event) => event.persisted && session?.wake());
  document.addEventListener('visibilitychange', () => {
    if (document.visibilityState !== 'visible') return;
    session?.wake();
    allowSound(show);
    stayAwake();
  });
  setInterval(() => document.visibilityState === 'visible' && show(), REFRESH_AGE_MS);
}

function offerHours(): void {
  const hours = DUTY_HOURS.map((count) => new Option(say('dutyHours', { count }), String(count)));
  byId('duty-hours').append(new Option(say('dutyOpen'), '0'), ...hours);
}

async function main(): Promise<void> {
  startClock(kept);
  translateMarkup();
  offerHours();
  byId('insecure').hidden = window.isSecureContext;
  store = await openStore();
  photo = new HandoverPhoto(store, show, () => {
    tell(say('photoUnreadable'));
    show();
  });
  await photo.open();
  listen();
  useWorker();
  const code = codeInAddress();
  const token = kept.token();
  if (token !== null) {
    await enter(token, kept.state());
    if (code !== null) askToSwitch(code);
    return;
  }
  const link = code === null ? null : await signInByLink(code);
  showSignIn();
  if (link) await enterByLink(link);
}

void main();
