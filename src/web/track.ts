import type { ShownPosition } from '../domain/shown-position.ts';
import { POSITION_FRESH_MS } from '../limits.ts';
import type { TrackingView } from '../tracking/view.ts';
import { Feed, type LinkState } from './feed.ts';
import type { DeliveryMap } from './map.ts';
import { NotesForm } from './notes.ts';
import { age, byId, renderArrival, renderLink, renderView } from './render.ts';

const root = byId('track');
let view = JSON.parse(root.dataset.view ?? '') as TrackingView;
// It may hold the driver's position, which must not outlive the delivery.
delete root.dataset.view;
let link: LinkState = 'connecting';
let position: ShownPosition | null = null;
/** When the position was taken, by this page's clocks. */
let taken = { running: 0, wall: 0 };
let arrival = view.arrival;
let map: Promise<DeliveryMap> | null = null;

function takePosition(next: ShownPosition | null): void {
  position = next;
  if (next) taken = { running: performance.now() - next.age_ms, wall: Date.now() - next.age_ms };
}

/** The running clock may stand still while the phone sleeps; the wall clock may be set back. */
function positionAgeMs(): number {
  return Math.max(performance.now() - taken.running, Date.now() - taken.wall);
}

function showOrder(next: TrackingView): void {
  if (next.sequence < view.sequence) return;
  view = next;
  takePosition(next.driver?.position ?? null);
  arrival = view.arrival;
  renderView(view);
  showArrival();
  if (view.final) feed.finish();
  renderLink(link, view.final);
  showMap();
  notes.show(view.dropoff_notes);
}

/** Shows the estimate as long as its position is fresh. */
function showArrival(): void {
  renderArrival(position && positionAgeMs() <= POSITION_FRESH_MS ? arrival : null);
}

function showMap(): void {
  const underWay = view.status === 'driver_assigned' || view.status === 'picked_up';
  const card = byId('map-card');
  if (!underWay) {
    card.hidden = true;
    map?.then(
      (shown) => shown.forgetDriver(),
      () => {},
    );
    return;
  }
  const appears = card.hidden;
  card.hidden = false;
  map ??= loadMap();
  map.then(
    (shown) => {
      if (appears) shown.resized();
      shown.show(view.pickup, view.store_name, position, view.driver?.first_name ?? 'Driver');
    },
    () => {
      // The page says everything in words as well; the next change tries again.
      map = null;
      card.hidden = true;
    },
  );
  showAge();
}

async function loadMap(): Promise<DeliveryMap> {
  const { DeliveryMap } = await import('./map.ts');
  const button = byId('recentre');
  const tiles = { url: root.dataset.tileUrl ?? '', attribution: root.dataset.tileAttribution ?? '' };
  const shown = new DeliveryMap(byId('map'), tiles, (moved) => {
    button.hidden = !moved;
  });
  button.addEventListener('click', () => shown.fit(true));
  return shown;
}

function showAge(): void {
  const line = byId('position-age');
  if (!position) {
    line.textContent = 'The driver’s position is not known yet';
    return;
  }
  const words = age(positionAgeMs());
  const roughly = position.precision === 'approximate';
  line.textContent = roughly ? `Roughly here, ${words}` : words[0]?.toUpperCase() + words.slice(1);
}

const notes = new NotesForm(root.dataset.token ?? '', showOrder);
const feed = new Feed(root.dataset.token ?? '', {
  order: showOrder,
  message({ sequence, position: next, arrival: newArrival }) {
    if (sequence < view.sequence) return;
    takePosition(next);
    arrival = newArrival;
    showArrival();
    showMap();
  },
  state(next) {
    link = next;
    renderLink(link, view.final);
  },
});

showOrder(view);
if (!view.final) feed.start();
setInterval(() => {
  if (document.visibilityState !== 'visible' || !position) return;
  showAge();
  showArrival();
}, 1_000);
