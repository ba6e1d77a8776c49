import type { Arrival } from '../domain/arrival.ts';
import { arrivalText, tone } from '../tracking/sentences.ts';
import type { Stage } from '../tracking/stages.ts';
import type { TrackingView } from '../tracking/view.ts';
import type { LinkState } from './feed.ts';

export function byId<E extends HTMLElement = HTMLElement>(id: string): E {
  const element = document.getElementById(id);
  if (!element) throw new Error(`the page lacks #${id}`);
  return element as E;
}

/** Shows the view as text. What did not change is left alone, so that a screen reader reads nothing twice. */
export function renderView(view: TrackingView): void {
  setText(byId('headline'), view.headline);
  setText(byId('detail'), view.detail);
  setText(byId('store'), view.store_name);
  const title = `${view.headline} · ${view.store_name}`;
  if (document.title !== title) document.title = title;
  const now = document.querySelector<HTMLElement>('.now');
  if (now) now.dataset.tone = tone(view.status);
  byId('stages').replaceChildren(...view.stages.map(stageItem));
  renderPhoto(view.photo_url);
}

/** Shows when the order arrives, where that is known. It is not read out, as it changes every minute. */
export function renderArrival(arrival: Arrival | null): void {
  const line = byId('arrival');
  setText(line, arrivalText(arrival));
  line.hidden = arrival === null;
}

function setText(element: HTMLElement, text: string): void {
  if (element.textContent !== text) element.textContent = text;
}

function stageItem(stage: Stage): HTMLLIElement {
  const item = document.createElement('li');
  item.dataset.state = stage.state;
  if (stage.state === 'current') item.setAttribute('aria-current', 'step');
  const dot = document.createElement('span');
  dot.className = 'dot';
  dot.setAttribute('aria-hidden', 'true');
  const label = document.createElement('span');
  label.className = 'label';
  label.textContent = stage.label;
  item.append(dot, label);
  if (stage.at !== null) item.append(timeElement(stage.at));
  return item;
}

function timeElement(iso: string): HTMLTimeElement {
  const time = document.createElement('time');
  time.dateTime = iso;
  time.textContent = localTime(new Date(iso), new Date());
  return time;
}

/** The time in the viewer's zone and format, with the day where it is not today. */
export function localTime(time: Date, now: Date): string {
  const sameDay = time.toDateString() === now.toDateString();
  return time.toLocaleString(undefined, {
    hour: 'numeric',
    minute: '2-digit',
    ...(sameDay ? {} : { month: 'short', day: 'numeric' }),
  });
}

function renderPhoto(url: string | null): void {
  const figure = byId('photo');
  figure.hidden = url === null;
  const shown = figure.querySelector('img');
  if (url !== null && shown?.getAttribute('src') === url) return;
  shown?.remove();
  if (url === null) return;
  const image = document.createElement('img');
  image.src = url;
  image.alt = 'Photo taken at the handover';
  figure.prepend(image);
}

/** The age of a position, in words that change seldom enough to be read. */
export function age(ms: number): string {
  const seconds = Math.max(0, Math.floor(ms / 1_000));
  if (seconds < 5) return 'updated just now';
  if (seconds < 60) return `updated ${seconds} s ago`;
  const minutes = Math.floor(seconds / 60);
  if (minutes < 60) return `updated ${minutes} min ago`;
  return 'updated more than an hour ago';
}

const LINK_TEXTS: Record<LinkState, string> = {
  connecting: '',
  live: 'Live',
  reconnecting: 'Reconnecting…',
  polling: 'Checking every 10 seconds',
  offline: 'No connection. Trying again…',
  closed: '',
  gone: 'This link is no longer active',
};

/** Shows how current the page is, until the order has ended. */
export function renderLink(state: LinkState, final: boolean): void {
  const line = byId('link');
  const text = final && state !== 'gone' ? '' : LINK_TEXTS[state];
  setText(line, text);
  line.dataset.state = state;
  line.hidden = text === '';
}
