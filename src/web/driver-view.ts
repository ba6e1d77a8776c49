import type { LinkState } from './driver-link.ts';
import { renderNotes } from './driver-notes.ts';
import { mapsLink, phoneLink } from './driver-phone.ts';
import type { PositionProblem } from './driver-position.ts';
import { restOnNewStep } from './driver-rest.ts';
import type { Finished } from './driver-session.ts';
import type { DriverOrder, Shown } from './driver-state.ts';
import { dutyDetail, finishedWords, type Idle, idleWords, orderFacts, orderWords } from './driver-words.ts';

export type Screen = 'none' | 'sign-in' | 'replaced' | 'work';

/** Everything on the screen. */
export type Model = {
  readonly screen: Screen;
  readonly link: LinkState;
  readonly shown: Shown;
  readonly onDuty: boolean;
  readonly dutyWaits: boolean;
  readonly problem: PositionProblem | null;
  readonly positionAgeMs: number | null;
  readonly waiting: string | null;
  /** Whether the action that ended the last order takes longer than usual to send. */
  readonly late: boolean;
  readonly finished: Finished | null;
  readonly refusal: string | null;
  readonly photo: 'none' | 'preparing' | 'ready';
};

export function byId<E extends HTMLElement = HTMLElement>(id: string): E {
  const element = document.getElementById(id);
  if (!element) throw new Error(`the page lacks #${id}`);
  return element as E;
}

const SCREENS = ['sign-in', 'replaced', 'work'];
const LINKS: Record<LinkState, string> = {
  connecting: 'Connecting…',
  live: 'Live',
  reconnecting: 'Reconnecting…',
  offline: 'No network',
  replaced: '',
};
const PROBLEMS: Record<PositionProblem, string> = {
  denied:
    'This page is not allowed to see your location, so no order can reach you. Allow “Location” for it in the browser’s settings.',
  unavailable: 'Your position cannot be found, so no order can reach you. Is location switched on?',
};

/**
 * Shows the model as text. What did not change is left alone, so that a screen reader reads nothing twice.
 */
export function render(model: Model): void {
  for (const id of SCREENS) byId(id).hidden = id !== model.screen;
  const working = model.screen === 'work';
  renderLink(working ? model.link : 'replaced');
  show('waiting', model.screen === 'sign-in' ? null : model.waiting);
  show('position-problem', working && model.problem ? PROBLEMS[model.problem] : null);
  setText(byId('refusal-text'), model.refusal ?? '');
  byId('refusal').hidden = !working || model.refusal === null;
  renderDuty(model);
  renderIdle(model);
  renderOrder(model.shown.order, model.photo === 'ready');
  renderBar(model);
  closeOtherSheets(model.shown.order);
}

/** The words while there is no order. */
export function idleOf({ shown, late, onDuty, problem }: Pick<Model, 'shown' | 'late' | 'onDuty' | 'problem'>) {
  const idle: Idle = { ended: shown.ended, late, onDuty, located: window.isSecureContext && problem === null };
  return idleWords(idle);
}

/** Announces a text to screen readers. */
export function announce(text: string): void {
  setText(byId('announce'), text);
}

function renderLink(link: LinkState): void {
  const line = byId('link');
  setText(line, LINKS[link]);
  line.dataset.state = link;
  line.hidden = LINKS[link] === '';
}

function renderDuty({ onDuty, dutyWaits, shown, positionAgeMs, link }: Model): void {
  setText(byId('duty-state'), onDuty ? 'On duty' : 'Off duty');
  const watched = window.isSecureContext && (onDuty || shown.order !== null);
  setText(byId('duty-detail'), dutyDetail({ waits: dutyWaits, watched, positionAgeMs, offline: link === 'offline' }));
  byId('duty-off').hidden = !onDuty;
  byId('duty').hidden = !onDuty && !dutyWaits && shown.order === null;
}

function renderIdle(model: Model): void {
  const { shown, onDuty, problem, finished } = model;
  const words = idleOf(model);
  setText(byId('idle-headline'), words.headline);
  setText(byId('idle-detail'), words.detail);
  const idle = byId('idle');
  const reachable = onDuty && window.isSecureContext && problem === null;
  idle.dataset.state = shown.ended ? 'unsent' : reachable ? 'waiting' : 'off';
  idle.hidden = shown.order !== null;
  show('finished', finished && !shown.ended ? finishedWords(finished) : null);
  // Off duty only: on duty it would be tapped by mistake, and the token is seldom at hand.
  byId('sign-out').hidden = shown.order !== null || onDuty;
}

function renderOrder(order: DriverOrder | null, hasPhoto: boolean): void {
  byId('order').hidden = order === null;
  const giveUp = byId('give-up');
  byId('hint').hidden = order?.status !== 'driver_assigned';
  if (!order) {
    giveUp.hidden = true;
    forgetOrder();
    return;
  }
  const words = orderWords(order, hasPhoto);
  setText(byId('order-step'), words.step);
  setText(byId('order-headline'), words.headline);
  setText(byId('order-address'), words.address);
  setText(byId('order-facts'), orderFacts(order));
  renderNotes(byId('order-notes'), words.notes);
  setText(byId('next-text'), words.next ?? '');
  byId('next').hidden = words.next === null;
  giveUp.hidden = words.giveUp === null;
  setText(giveUp, words.giveUp?.text ?? '');
  giveUp.dataset.kind = words.giveUp?.kind ?? '';
  giveUp.dataset.order = order.id;
  renderWays(order, words.place);
}

/** Leaves nothing of the last order and its customer in the page. */
function forgetOrder(): void {
  for (const id of ['order-step', 'order-headline', 'order-address', 'order-facts', 'next-text']) setText(byId(id), '');
  renderNotes(byId('order-notes'), []);
  for (const id of ['directions', 'call']) {
    byId(id).removeAttribute('href');
    byId(id).removeAttribute('aria-label');
  }
}

/** Closes a sheet whose order or step is over, as its answer would apply to another one. */
function closeOtherSheets(order: DriverOrder | null): void {
  const { kind } = byId('give-up').dataset;
  for (const id of ['release', 'undeliverable']) {
    const sheet = byId<HTMLDialogElement>(id);
    if (sheet.open && !(order && kind === id && sheet.dataset.order === order.id)) sheet.close();
  }
}

function renderWays(order: DriverOrder, place: string): void {
  const directions = byId<HTMLAnchorElement>('directions');
  directions.href = mapsLink(place, navigator);
  // A new window for the web's maps; for the phone's own it would stay empty.
  directions.target = directions.protocol === 'geo:' ? '_self' : '_blank';
  directions.setAttribute('aria-label', `Directions to ${place}`);
  const call = byId<HTMLAnchorElement>('call');
  const { name, phone } = order.dropoff;
  const number = order.status === 'picked_up' && phone !== null ? phoneLink(phone) : null;
  call.hidden = number === null;
  if (number === null) return;
  call.href = number;
  call.setAttribute('aria-label', `Call ${name ?? 'the customer'}`);
}

function renderBar({ screen, shown, onDuty, photo }: Model): void {
  const { order, ended } = shown;
  const handover = order?.status === 'picked_up';
  const primary = byId<HTMLButtonElement>('primary');
  const goOnDuty = !order && !onDuty && !ended;
  const step = order ? orderWords(order, photo === 'ready').primary : null;
  const text = goOnDuty ? 'Go on duty' : (step?.text ?? null);
  primary.hidden = text === null;
  primary.dataset.kind = goOnDuty ? 'on-duty' : (step?.kind ?? '');
  setText(primary, text ?? '');
  byId('proof').hidden = !handover;
  byId('camera-field').dataset.state = photo;
  setText(byId('camera-label'), cameraText(photo));
  byId<HTMLInputElement>('camera').disabled = photo === 'preparing';
  byId('preview').hidden = photo !== 'ready';
  byId('bar').hidden = screen !== 'work' || (text === null && !handover);
  restOnNewStep([order?.id, order?.status, primary.dataset.kind].join(), [primary, byId('camera')]);
}

function cameraText(photo: Model['photo']): string {
  if (photo === 'preparing') return 'Preparing the photo…';
  return photo === 'ready' ? 'Retake' : 'Take a photo';
}

function show(id: string, text: string | null): void {
  const element = byId(id);
  element.hidden = text === null;
  setText(element, text ?? '');
}

function setText(element: HTMLElement, text: string): void {
  if (element.textContent !== text) element.textContent = text;
}
