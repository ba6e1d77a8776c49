import { type Arrival, arrivalTimes } from '../../domain/arrival.ts';
import { below, POSITION_FRESH_MS } from '../../limits.ts';
import { arrivalText, detail, headline, stageLabel, stageState, stopsText, tone } from '../../tracking/sentences.ts';
import type { Stage, TrackingView } from '../../tracking/tracking-view.ts';
import { byId, classed, element, fill, setText } from '../shared/dom.ts';
import type { LinkState } from './feed.ts';
import { localTime, localTimes, say } from './track-words.ts';

/** Age of the driver's position at which the customer's page says so. Above POSITION_FRESH_MS. */
const DRIVER_UNHEARD_MS = 2 * 60_000;

/* @__PURE__ */ below({ POSITION_FRESH_MS }, { DRIVER_UNHEARD_MS });

/** Shows the view as text. What did not change is left alone, so that a screen reader reads nothing twice. */
export function renderView(view: TrackingView): void {
  const where = headline(view, say);
  setText(byId('headline'), where);
  setLine('stops', stopsText(view, say));
  setText(byId('detail'), detail(view, say));
  setText(byId('store'), view.store_name);
  const title = `${where} · ${view.store_name}`;
  if (document.title !== title) document.title = title;
  const now = document.querySelector<HTMLElement>('.now');
  if (now) now.dataset.tone = tone(view.status);
  fill(
    'stages',
    view.stages.map((stage) => stagePart(stage, view)),
    stageItem,
  );
  renderPhoto(view.photo_url);
}

/**
 * Shows when the order arrives, as times of the clock, where that is known, else until when it is promised. It is
 * not read out, as it changes every minute.
 *
 * @param writtenMs when the estimate was made, by this page's clock
 */
export function renderArrival(arrival: Arrival | null, writtenMs: number, deliverBy: string | null): void {
  const now = new Date();
  const told = arrivalTimes(arrival, writtenMs);
  // An order behind other doors gets no other estimate until one of them is done.
  const range = told && new Date(told.to) > now ? told : null;
  const clock = range && localTimes(new Date(range.from), new Date(range.to), now);
  const due = deliverBy === null ? null : new Date(deliverBy);
  const dueText = due && due > now ? say('due_by', { time: localTime(due, now) }) : '';
  setLine('arrival', arrivalText(range && arrival, say, clock) || dueText);
}

/** Sets a line that is there only with a text. */
function setLine(id: string, text: string): void {
  const line = byId(id);
  setText(line, text);
  line.hidden = text === '';
}

/** All that a step shows. */
function stagePart(stage: Stage, { status }: TrackingView) {
  const { state, at } = stage;
  const time = at === null ? null : localTime(new Date(at), new Date());
  return { state, at, label: stageLabel(stage, status, say), said: `, ${stageState(stage, say)} `, time };
}

type StagePart = ReturnType<typeof stagePart>;

function stageItem({ state, at, label, said, time }: StagePart): HTMLElement {
  const dot = classed('span', 'dot');
  dot.setAttribute('aria-hidden', 'true');
  const item = element('li', dot, classed('span', 'label', label, classed('span', 'unseen', said)));
  item.dataset.state = state;
  if (state === 'current') item.setAttribute('aria-current', 'step');
  if (at !== null && time !== null) item.append(timeElement(at, time));
  return item;
}

function timeElement(iso: string, text: string): HTMLElement {
  const time = element('time', text) as HTMLTimeElement;
  time.dateTime = iso;
  return time;
}

/** Time after which a photo that did not load is asked for again: twice as long each time, up to the second. */
const PHOTO_RETRY_FIRST_MS = 2_000;
const PHOTO_RETRY_MAX_MS = 60_000;

function renderPhoto(url: string | null): void {
  const figure = byId('photo');
  figure.hidden = url === null;
  const shown = figure.querySelector('img');
  if (url !== null && shown?.getAttribute('src') === url) {
    askAgain(shown, url);
    return;
  }
  shown?.remove();
  if (url === null) return;
  const image = document.createElement('img');
  image.src = url;
  image.alt = say('photo');
  figure.prepend(image);
  askAgain(image, url);
}

const watched = new WeakSet<HTMLImageElement>();

/** Asks for a photo until it is there. The server's markup may hold one that failed before this script ran. */
function askAgain(image: HTMLImageElement, url: string): void {
  if (watched.has(image)) return;
  watched.add(image);
  let waitMs = PHOTO_RETRY_FIRST_MS;
  const failed = (): void => {
    setTimeout(() => {
      if (image.isConnected) image.src = url;
    }, waitMs);
    waitMs = Math.min(2 * waitMs, PHOTO_RETRY_MAX_MS);
  };
  image.addEventListener('error', failed);
  if (image.complete && image.naturalWidth === 0) failed();
}

/** The age of a position, in words that change seldom enough to be read. */
export function age(ms: number): string {
  const seconds = Math.max(0, Math.floor(ms / 1_000));
  if (seconds < 5) return say('age_now');
  if (seconds < 60) return say('age_seconds', { count: seconds });
  const minutes = Math.floor(seconds / 60);
  return minutes < 60 ? say('age_minutes', { count: minutes }) : say('age_long');
}

/**
 * Shows how current the page is, until the order has ended.
 *
 * @param positionAgeMs the age of the driver's position; null where none is shown
 */
export function renderLink(state: LinkState, final: boolean, positionAgeMs: number | null): void {
  const isUnheard = state === 'live' && positionAgeMs !== null && positionAgeMs >= DRIVER_UNHEARD_MS;
  setLine('link', isUnheard && !final ? unheard(positionAgeMs) : linkText(state, final));
  byId('link').dataset.state = isUnheard ? 'unheard' : state;
}

function linkText(state: LinkState, final: boolean): string {
  return final || state === 'connecting' || state === 'closed' ? '' : say(`link_${state}`);
}

function unheard(ms: number): string {
  const minutes = Math.floor(ms / 60_000);
  return minutes < 60 ? say('unheard', { count: minutes }) : say('unheard_long');
}
