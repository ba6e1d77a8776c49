import { byId, classed, element, fill, said, setText, show } from '../shared/dom.ts';
import type { Model } from './model.ts';
import { mapsLink, phoneLink } from './phone.ts';
import { type Fix, wayMeters } from './route.ts';
import type { WaitPlace } from './state.ts';
import {
  type Entry,
  entriesOf,
  factsOf,
  giveUpOf,
  type Next,
  type Note,
  nameOf,
  parcelsOf,
  routeTotal,
  stopWords,
} from './stop-words.ts';
import { distanceWords, type Say, waitPlaceWords } from './words.ts';

/** Shows the next stop large and the others in their order. */
export function renderStops(say: Say, next: Next | null, model: Model): void {
  byId('order').hidden = next === null;
  byId('hint').hidden = next?.stop.kind !== 'pickup';
  if (next) renderNext(say, next, model);
  else forgetNext();
  const { stops, orders } = model.shown;
  const entries = next ? entriesOf(say, stops, orders) : [];
  // At a door the next thing to do is the handover.
  const isFree = next !== null && !next.atDoor;
  show('route-total', next && routeTotal(say, stops, orders));
  show('route-title', entries.length > 0 ? say('route', { count: entries.length }) : null);
  fill(
    'stops',
    entries.map((entry) => ({ ...entry, canGo: entry.canGo && isFree })),
    (entry) => entryOf(say, entry),
  );
}

function renderNext(say: Say, next: Next, { shown, fix, ticked }: Model): void {
  const { stop, orders, atDoor } = next;
  const words = stopWords(say, next);
  byId('order').dataset.at = atDoor ? 'door' : '';
  fill('order-facts', factsOf(say, next, wayMeters(fix, stop)), (fact) => element('span', fact));
  setText(byId('order-step'), words.step);
  setText(byId('order-headline'), words.headline);
  fill('order-address', words.lines, (line) => said('span', line));
  renderNotes(words.notes);
  show('order-name', orders.length === 1 ? nameOf(say, orders[0]) : null);
  renderParcels(say, next, ticked);
  const giveUp = giveUpOf(say, next, shown.orders);
  const button = byId('give-up');
  button.hidden = giveUp === null;
  setText(button, giveUp?.text ?? '');
  button.dataset.kind = giveUp?.kind ?? '';
  renderWays(say, next, words.place);
}

/** The parcels of a stop that has several, to tick. */
function renderParcels(say: Say, next: Next, ticked: ReadonlySet<string>): void {
  const several = next.orders.length > 1;
  byId('parcels').hidden = !several;
  setText(byId('parcels-title'), say(next.stop.kind === 'return' ? 'tickReturns' : 'tickPickups'));
  fill('parcels-list', several ? parcelsOf(say, next) : [], ({ id, name, detail }) => {
    const box = document.createElement('input');
    box.type = 'checkbox';
    box.value = id;
    return classed('label', 'choice', box, element('span', said('strong', name), said('small', detail)));
  });
  for (const box of byId('parcels-list').querySelectorAll('input')) box.checked = ticked.has(box.value);
}

function entryOf(say: Say, { title, detail, canGo, kind, orderId }: Entry): HTMLElement {
  const texts = [said('strong', title), said('span', detail)];
  if (!canGo) return element('li', ...texts);
  const go = element('button', ...texts, element('em', say('goHereFirst')));
  go.setAttribute('type', 'button');
  go.dataset.kind = kind;
  go.dataset.order = orderId;
  return element('li', go);
}

/** Leaves nothing of the last stop and its customer in the page. */
function forgetNext(): void {
  byId('give-up').hidden = true;
  for (const id of ['order-step', 'order-headline', 'order-name']) setText(byId(id), '');
  for (const id of ['order-facts', 'order-address', 'parcels-list']) fill(id, [], () => element('span'));
  renderNotes([]);
  for (const id of ['directions', 'call']) leadNowhere(byId<HTMLAnchorElement>(id));
}

function renderWays(say: Say, { stop, orders: [order], atDoor }: Next, place: string): void {
  const directions = byId<HTMLAnchorElement>('directions');
  directions.hidden = atDoor;
  leadTo(say, directions, place, place);
  const call = byId<HTMLAnchorElement>('call');
  const { name, phone } = order.dropoff;
  const number = stop.kind === 'dropoff' && phone !== null ? phoneLink(phone) : null;
  call.hidden = number === null;
  if (number === null) {
    leadNowhere(call);
    return;
  }
  call.href = number;
  call.setAttribute('aria-label', say('callWhom', { name: name ?? say('theCustomer') }));
}

/** Shows the notes as blocks of text, each in its own direction, and nothing of them as markup. */
function renderNotes(notes: readonly Note[]): void {
  fill('order-notes', notes, ({ title, text, list }) => {
    const block = classed('section', 'note', element('h2', title));
    if (text !== undefined) block.append(said('p', text));
    if (list !== undefined) block.append(element('ul', ...list.map((each) => said('li', each))));
    return block;
  });
}

/** Shows the way to where the driver is asked to wait; nothing where they are not asked. */
export function renderWait(say: Say, place: WaitPlace | null, fix: Fix | null): void {
  const meters = place && wayMeters(fix, place);
  show('wait-distance', meters === null ? null : say('waitDistance', { distance: distanceWords(say, meters) }));
  byId('wait').hidden = place === null;
  const link = byId<HTMLAnchorElement>('wait-directions');
  if (place) leadTo(say, link, `${place.lat},${place.lng}`, waitPlaceWords(say, place));
  else leadNowhere(link);
}

/**
 * Lets a link lead to a place in the phone's maps.
 *
 * @param place an address, or a latitude and a longitude with a comma between
 * @param name what the place is called
 */
function leadTo(say: Say, link: HTMLAnchorElement, place: string, name: string): void {
  link.href = mapsLink(place, navigator);
  // A new window for the web's maps; for the phone's own it would stay empty.
  link.target = link.protocol === 'geo:' ? '_self' : '_blank';
  link.setAttribute('aria-label', say('directionsTo', { place: name }));
}

function leadNowhere(link: HTMLAnchorElement): void {
  link.removeAttribute('href');
  link.removeAttribute('aria-label');
}
