import type { LinkState } from './driver-link.ts';
import { mapsLink, phoneLink } from './driver-phone.ts';
import type { PositionProblem } from './driver-position.ts';
import type { DriverOrder, Shown } from './driver-state.ts';
import { dutyDetail, idleWords, orderFacts, orderWords } from './driver-words.ts';

export type Screen = 'none' | 'sign-in' | 'replaced' | 'work';

/** Everything that is on the screen. */
export type Model = {
  readonly screen: Screen;
  readonly link: LinkState;
  readonly shown: Shown;
  readonly onDuty: boolean;
  readonly dutyWaits: boolean;
  readonly problem: PositionProblem | null;
  readonly positionAgeMs: number | null;
  readonly waiting: string | null;
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
    'This page may not see where you are, so no orders can reach you. Allow “Location” for it in the browser’s settings.',
  unavailable: 'Your position cannot be found, so no orders can reach you. Is location switched on?',
};

/** Shows the model. Everything goes in as text; what did not change is not touched, so nothing is read out twice. */
export function render(model: Model): void {
  for (const id of SCREENS) byId(id).hidden = id !== model.screen;
  const working = model.screen === 'work';
  renderLink(working ? model.link : 'replaced');
  show('waiting', working ? model.waiting : null);
  show('position-problem', working && model.problem ? PROBLEMS[model.problem] : null);
  setText(byId('refusal-text'), model.refusal ?? '');
  byId('refusal').hidden = !working || model.refusal === null;
  renderDuty(model);
  renderIdle(model);
  renderOrder(model.shown.order, model.photo === 'ready');
  renderBar(model);
}

/** Says something to whoever does not look at the screen. */
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

function renderIdle({ shown, onDuty }: Model): void {
  const words = idleWords(shown.ended, onDuty);
  setText(byId('idle-headline'), words.headline);
  setText(byId('idle-detail'), words.detail);
  const idle = byId('idle');
  idle.dataset.state = shown.ended ? 'unsent' : onDuty ? 'waiting' : 'off';
  idle.hidden = shown.order !== null;
  // Nobody signs out with a parcel in hand, and a thumb would find it by mistake.
  byId('sign-out').hidden = shown.order !== null;
}

function renderOrder(order: DriverOrder | null, hasPhoto: boolean): void {
  byId('order').hidden = order === null;
  const giveUp = byId('give-up');
  if (!order) {
    giveUp.hidden = true;
    return;
  }
  const words = orderWords(order, hasPhoto);
  setText(byId('order-step'), words.step);
  setText(byId('order-headline'), words.headline);
  setText(byId('order-address'), words.address);
  setText(byId('order-facts'), orderFacts(order));
  show('next-text', words.next);
  byId('next').hidden = words.next === null;
  giveUp.hidden = words.giveUp === null;
  setText(giveUp, words.giveUp?.text ?? '');
  giveUp.dataset.kind = words.giveUp?.kind ?? '';
  renderWays(order, words.address);
}

function renderWays(order: DriverOrder, address: string): void {
  const directions = byId<HTMLAnchorElement>('directions');
  directions.href = mapsLink(address, navigator);
  // A window of its own for the web's maps; one for the phone's would stay behind empty.
  directions.target = directions.protocol === 'geo:' ? '_self' : '_blank';
  directions.setAttribute('aria-label', `Directions to ${address}`);
  const call = byId<HTMLAnchorElement>('call');
  const number = order.status === 'picked_up' ? phoneLink(order.dropoff.phone) : null;
  call.hidden = number === null;
  if (number === null) return;
  call.href = number;
  call.setAttribute('aria-label', `Call ${order.dropoff.name}`);
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
