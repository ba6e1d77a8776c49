import { byId, classed, fill, setText, show } from '../shared/dom.ts';
import type { LinkState } from './link.ts';
import type { Model } from './model.ts';
import { restOnNewStep } from './rest.ts';
import type { Action, Shown } from './state.ts';
import { renderStops, renderWait } from './stop-view.ts';
import { giveUpOf, type Next, nextOf, primaryOf } from './stop-words.ts';
import { dayWords, dutyDetail, dutyWords, finishedWords, idleWords, type Say, shortName } from './words.ts';

const SCREENS = ['sign-in', 'replaced', 'work'];
const LINKS = {
  connecting: 'linkConnecting',
  live: 'linkLive',
  reconnecting: 'linkReconnecting',
  offline: 'linkOffline',
} as const;
const PROBLEMS = { denied: 'positionDenied', unavailable: 'positionUnavailable', rough: 'positionRough' } as const;
const PHOTO_TEXTS = { none: 'photoTake', preparing: 'photoPreparing', ready: 'photoRetake' } as const;

/**
 * Shows the model as text. What did not change is left alone, so that a screen reader reads nothing twice.
 */
export function render(say: Say, model: Model): void {
  for (const id of SCREENS) byId(id).hidden = id !== model.screen;
  const working = model.screen === 'work';
  const next = nextOf(model.shown.stops, model.shown.orders, model.doorOrderId);
  renderLink(say, working ? model.link : 'replaced');
  show('whose', model.name);
  byId('whose').title = model.name ? say('signedInAs', { name: model.name }) : '';
  show('waiting', model.screen === 'sign-in' ? null : model.waiting);
  show('position-problem', working && model.problem ? say(PROBLEMS[model.problem]) : null);
  show('clock-problem', working ? model.clock : null);
  show('gained', working ? model.gained : null);
  setText(byId('refusal-text'), model.refusal ?? '');
  byId('refusal').hidden = !working || model.refusal === null;
  restOnNewStep(`${model.refusedId} ${model.refusal}`, byId('refusal-ok'));
  const saved = (action: Action) => savePhoto(say, action);
  fill('refusal-photos', working ? model.photos : [], saved);
  setText(byId('left-behind'), model.leftBehind ?? '');
  byId('left').hidden = model.leftBehind === null;
  fill('left-photos', working ? [] : model.photos, saved);
  renderDuty(say, model);
  renderIdle(say, model);
  renderStops(say, next, model);
  renderBar(say, next, model);
  closeOtherSheets(say, next, model);
}

/** The words while there is no order. */
export function idleOf(
  say: Say,
  model: Pick<Model, 'late' | 'onDuty' | 'problem' | 'isMute' | 'waitAt'> & { readonly shown: Shown },
): ReturnType<typeof idleWords> {
  const { shown, late, onDuty, problem, isMute, waitAt } = model;
  const located = window.isSecureContext && (problem === null || problem === 'rough');
  return idleWords(say, { ended: shown.ended, late, onDuty, located, isMute, waitAt });
}

/** Announces a text to screen readers. */
export function announce(text: string): void {
  setText(byId('announce'), text);
}

/** A link that saves a photo which the service does not have. */
function savePhoto(say: Say, { orderId, photo }: Action): HTMLElement {
  const link = classed('a', 'quiet', say('savePhoto', { order: shortName(orderId) })) as HTMLAnchorElement;
  link.download = `${orderId}.jpg`;
  link.href = URL.createObjectURL(new Blob(photo ? [photo] : [], { type: 'image/jpeg' }));
  return link;
}

function renderLink(say: Say, link: LinkState): void {
  const line = byId('link');
  setText(line, link === 'replaced' ? '' : say(LINKS[link]));
  line.dataset.state = link;
  line.hidden = link === 'replaced';
}

function renderDuty(say: Say, model: Model): void {
  const { onDuty, onDutyUntil, dutyWaits, shown, positionAgeMs, link } = model;
  const carries = shown.orders.length > 0;
  setText(byId('duty-state'), dutyWords(say, onDuty, onDutyUntil, carries));
  const watched = window.isSecureContext && (onDuty || carries);
  setText(
    byId('duty-detail'),
    dutyDetail(say, { waits: dutyWaits, watched, positionAgeMs, offline: link === 'offline' }),
  );
  const button = byId('duty-off');
  setText(button, say(carries ? (onDuty ? 'lastOrder' : 'moreOrders') : 'goOffDuty'));
  button.dataset.wants = onDuty ? 'off' : 'on';
  restOnNewStep(button.dataset.wants, button);
  button.hidden = !onDuty && !carries;
  byId('duty').hidden = !onDuty && !dutyWaits && !carries;
}

function renderIdle(say: Say, model: Model): void {
  const { shown, onDuty, problem, finished, day } = model;
  const words = idleOf(say, model);
  setText(byId('idle-headline'), words.headline);
  setText(byId('idle-detail'), words.detail);
  renderWait(say, words.waitAt, model.fix);
  const idle = byId('idle');
  const reachable = onDuty && window.isSecureContext && (problem === null || problem === 'rough');
  idle.dataset.state = shown.ended ? 'unsent' : reachable ? 'waiting' : 'off';
  const carries = shown.orders.length > 0;
  idle.hidden = carries;
  show('finished', finished && !shown.ended ? finishedWords(say, finished) : null);
  show('today', dayWords(say, day));
  // Off duty only: on duty it would be tapped by mistake, and the token is seldom at hand.
  byId('sign-out').hidden = carries || onDuty;
}

function renderBar(say: Say, next: Next | null, { screen, shown, onDuty, photo, ticked }: Model): void {
  const handover = next?.atDoor ?? false;
  const primary = byId<HTMLButtonElement>('primary');
  const goOnDuty = !next && !onDuty && !shown.ended;
  const step = next ? primaryOf(say, next, ticked, photo === 'ready') : null;
  // Apart from the bar, where "Picked up" was a moment ago and is pressed again by accident.
  const arrives = step?.kind === 'arrive';
  const text = goOnDuty ? say('goOnDuty') : arrives ? null : (step?.text ?? null);
  byId('arrive').hidden = !arrives;
  primary.hidden = text === null;
  primary.dataset.kind = goOnDuty ? 'on-duty' : (step?.kind ?? '');
  primary.dataset.empty = String(step?.orderIds.length === 0);
  setText(primary, text ?? '');
  byId('duty-for').hidden = !goOnDuty;
  byId('proof').hidden = !handover;
  // Not in the bar, whose buttons are all of the handover.
  byId('not-there').hidden = !handover;
  byId('camera-field').dataset.state = photo;
  setText(byId('camera-label'), say(PHOTO_TEXTS[photo]));
  byId<HTMLInputElement>('camera').disabled = photo === 'preparing';
  byId('preview').hidden = photo !== 'ready';
  byId('no-camera').hidden = photo !== 'none';
  byId('bar').hidden = screen !== 'work' || (text === null && !handover);
  const stepName = [next?.stop.kind, ...(next?.stop.order_ids ?? []), next?.atDoor, step?.kind, goOnDuty].join();
  const isNew = restOnNewStep(stepName, primary, byId('arrive'), byId('camera'), byId('no-camera'));
  if (isNew) window.scrollTo(0, 0);
}

/** Closes a sheet whose order or step is over, as its answer would apply to another one. */
function closeOtherSheets(say: Say, next: Next | null, { shown }: Model): void {
  const giveUp = next && giveUpOf(say, next, shown.orders);
  const left: Readonly<Record<string, readonly string[]>> = {
    release: giveUp?.kind === 'release' ? giveUp.orders.map(({ id }) => id) : [],
    undeliverable: giveUp?.kind === 'undeliverable' ? giveUp.orders.map(({ id }) => id) : [],
    far: next?.atDoor ? [next.orders[0].id] : [],
    'no-photo': next?.atDoor ? [next.orders[0].id] : [],
    last: shown.orders.map(({ id }) => id),
  };
  for (const [id, orderIds] of Object.entries(left)) {
    const sheet = byId<HTMLDialogElement>(id);
    const asked = (sheet.dataset.orders ?? '').split(' ');
    if (sheet.open && !asked.every((each) => orderIds.includes(each))) sheet.close();
  }
}
