import type { Arrival } from '../../domain/arrival.ts';
import type { ShownPosition } from '../../domain/shown-position.ts';
import { POSITION_FRESH_MS } from '../../limits.ts';
import type { TrackingView } from '../../tracking/tracking-view.ts';
import { byId } from '../shared/dom.ts';
import { Feed, type LinkState } from './feed.ts';
import { DeliveryLine } from './line.ts';
import { NotesForm } from './notes.ts';
import { age, renderArrival, renderLink, renderView } from './render.ts';
import { say } from './track-words.ts';

/** Where the order is, on a map or on a line. */
type Picture = {
  show(view: TrackingView, driver: ShownPosition | null, driverName: string): void;
  forget(): void;
  resized?(): void;
};

const root = byId('track');
let view = JSON.parse(root.dataset.view ?? '') as TrackingView;
// It may hold the driver's position and the door, which must not outlive the delivery.
delete root.dataset.view;
let link: LinkState = 'connecting';
let position: ShownPosition | null = null;
/** When the position was taken, by this page's clocks. */
let taken = { running: 0, wall: 0 };
let arrival: { readonly range: Arrival | null; readonly writtenMs: number } = { range: null, writtenMs: 0 };
let picture: Promise<Picture> | null = null;
let isMapDrawn = false;

function takePosition(next: ShownPosition | null, range: Arrival | null): void {
  position = next;
  if (next) taken = { running: performance.now() - next.age_ms, wall: Date.now() - next.age_ms };
  arrival = { range, writtenMs: Date.now() };
}

/** The running clock may stand still while the phone sleeps; the wall clock may be set back. */
function positionAgeMs(): number | null {
  return position && Math.max(performance.now() - taken.running, Date.now() - taken.wall);
}

function showOrder(next: TrackingView): void {
  if (next.sequence < view.sequence) return;
  view = next;
  takePosition(next.driver?.position ?? null, view.arrival);
  renderView(view);
  if (view.final) feed.finish();
  showAge();
  showPicture();
  notes.show(view.dropoff_notes, view.final);
}

/** Before a driver's other doors are done nothing is shown of where the driver is. */
function showPicture(): void {
  const underWay = view.status === 'driver_assigned' || view.status === 'picked_up';
  const card = byId('map-card');
  if (!underWay || view.stops_before !== 0) {
    card.hidden = true;
    void picture?.then((shown) => shown.forget());
    return;
  }
  const appears = card.hidden;
  card.hidden = false;
  picture ??= loadPicture();
  void picture.then((shown) => {
    if (card.hidden) return;
    if (appears) shown.resized?.();
    shown.show(view, position, view.driver?.first_name ?? say('driver'));
  });
}

async function loadPicture(): Promise<Picture> {
  const { tileUrl: url = '', tileAttribution: attribution = '' } = root.dataset;
  // A browser does not ask again for a script that did not load.
  const loaded = url === '' ? null : await import('./map.ts').catch(() => null);
  if (!loaded) return new DeliveryLine(byId('map'));
  const button = byId('recentre');
  const map = new loaded.DeliveryMap(byId('map'), byId('map-foot'), { url, attribution }, (moved) => {
    button.hidden = !moved;
  });
  button.addEventListener('click', () => map.fit(true));
  isMapDrawn = true;
  showAge();
  return map;
}

/** Shows what grows old with the position: its age, the estimate, and whether the driver is heard of. */
function showAge(): void {
  const ageMs = positionAgeMs();
  // Behind other doors, and before its time, an estimate rests on no position.
  const isFresh = ageMs !== null && ageMs <= POSITION_FRESH_MS;
  const isKnown = isFresh || view.is_planned || (view.stops_before ?? 0) > 0;
  renderArrival(isKnown ? arrival.range : null, arrival.writtenMs, view.deliver_by);
  renderLink(link, view.final, ageMs);
  const line = byId('position-age');
  if (ageMs === null) {
    line.textContent = say('position_unknown');
    return;
  }
  const words = age(ageMs);
  const roughly = position?.precision === 'approximate' && isMapDrawn;
  line.textContent = roughly ? say('roughly_here', { age: words }) : words[0]?.toUpperCase() + words.slice(1);
}

const notes = new NotesForm(root.dataset.token ?? '', showOrder);
const feed = new Feed(root.dataset.token ?? '', {
  order: showOrder,
  message({ sequence, position: next, arrival: newArrival }) {
    if (sequence < view.sequence) return;
    takePosition(next, newArrival);
    showAge();
    showPicture();
  },
  state(next) {
    link = next;
    renderLink(link, view.final, positionAgeMs());
  },
});

showOrder(view);
if (!view.final) feed.start();
setInterval(() => {
  if (document.visibilityState === 'visible' && !view.final) showAge();
}, 1_000);
