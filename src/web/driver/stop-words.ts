import { canGoTo } from './route.ts';
import type { DriverOrder, Stop } from './state.ts';
import { clock, distanceWords, money, type Say, shortName } from './words.ts';

/** The words of a stop, as pure functions. */

/** A block of a stop's page: its title, and a text of the store's or the customer's, or a list of them. */
export type Note = { readonly title: string; readonly text?: string; readonly list?: readonly string[] };

export type StopWords = {
  readonly step: string;
  readonly headline: string;
  /** The lines of the address without the unit, which is a note. */
  readonly lines: readonly string[];
  /** The address for maps, without what only helps at the door. */
  readonly place: string;
  /** What the store and the customer ask for at this stop. */
  readonly notes: readonly Note[];
};

/** What is on the screen of the next stop. */
export type Next = {
  readonly stop: Stop;
  /** The orders of the stop, at least one. */
  readonly orders: readonly [DriverOrder, ...DriverOrder[]];
  readonly atDoor: boolean;
};

/** The next stop with its orders; null where there is none. */
export function nextOf(stops: readonly Stop[], all: readonly DriverOrder[], doorOrderId: string | null): Next | null {
  const [stop] = stops;
  const [first, ...others] = stop ? ordersOf(stop, all) : [];
  if (!stop || !first) return null;
  return { stop, orders: [first, ...others], atDoor: stop.kind === 'dropoff' && first.id === doorOrderId };
}

export function ordersOf({ order_ids }: Stop, all: readonly DriverOrder[]): DriverOrder[] {
  return order_ids.flatMap((orderId) => all.find(({ id }) => id === orderId) ?? []);
}

export function stopWords(say: Say, { stop, orders, atDoor }: Next): StopWords {
  const [order] = orders;
  if (stop.kind === 'dropoff') {
    return {
      step: say(atDoor ? 'atTheDoorOf' : 'deliverTo'),
      headline: order.dropoff.name ?? say('theCustomer'),
      lines: dropoffLines(order),
      place: dropoffLines(order).join(', '),
      notes: dropoffNotes(say, order),
    };
  }
  const { address } = order.pickup;
  const isReturn = stop.kind === 'return';
  return {
    step: say(isReturn ? 'bringBackTo' : 'pickUpAt'),
    headline: order.store_name,
    lines: linesOf(address),
    place: address,
    notes: isReturn ? [] : pickupNotes(say, orders),
  };
}

/** An address in one line as two: what stands before its first comma, and the rest. */
function linesOf(address: string): string[] {
  const comma = address.indexOf(', ');
  return comma < 0 ? [address] : [address.slice(0, comma), address.slice(comma + 2)];
}

function dropoffLines({ dropoff: { line1, city, state, zip } }: DriverOrder): string[] {
  return [line1, `${city}, ${state} ${zip}`];
}

/** Several orders of a store often ask for the same; what each holds stands beside its tick. */
function pickupNotes(say: Say, orders: readonly DriverOrder[]): Note[] {
  const asked = [...new Set(orders.map(({ pickup }) => pickup.instructions))];
  const [first, ...others] = orders;
  return [
    ...asked.flatMap((text) => blockOf(say('atTheStore'), text)),
    ...(first && others.length === 0 ? itemsNote(say, first) : []),
  ];
}

function dropoffNotes(say: Say, order: DriverOrder): Note[] {
  const { line2, instructions, leave_at_door } = order.dropoff;
  return [
    ...blockOf(say('unit'), line2),
    ...blockOf(say('atTheDoor'), leave_at_door ? say('leaveAtDoor') : null),
    ...blockOf(say('instructions'), instructions),
    ...itemsNote(say, order),
  ];
}

function blockOf(title: string, text: string | null | undefined): Note[] {
  return text ? [{ title, text }] : [];
}

function itemsNote(say: Say, order: DriverOrder): Note[] {
  const list = itemsOf(say, order);
  return list.length > 0 ? [{ title: say('items'), list }] : [];
}

export function itemsOf(say: Say, { items }: DriverOrder): string[] {
  return (items ?? []).map(({ name, quantity }) => say('item', { count: quantity, name }));
}

/** What a stop brings, how far it is, and until when: what stands at its top. */
export function factsOf(say: Say, { orders }: Next, meters: number | null): string[] {
  const cents = orders.reduce((sum, { driver_payout_cents }) => sum + driver_payout_cents, 0);
  const promised = orders.flatMap(({ deliver_by }) => deliver_by ?? []).sort();
  const time = clock(say, promised[0]);
  return [
    say('earn', { count: orders.length, amount: money(cents) }),
    ...(meters === null ? [] : [distanceWords(say, meters)]),
    ...(time === null ? [] : [say('by', { time })]),
  ];
}

/** The tier and the short name of an order, by which people at the store and the operator know it. */
export function nameOf(say: Say, order: DriverOrder): string {
  return `${tierOf(say, order.delivery_tier)} · ${shortName(order.id)}`;
}

/** The name of a tier; the operator may have made one that the page does not know. */
function tierOf(say: Say, tier: string): string {
  if (tier === 'standard' || tier === 'priority' || tier === 'scheduled') return say(`tier_${tier}`);
  const words = tier.replaceAll('_', ' ');
  return `${words[0]?.toUpperCase() ?? ''}${words.slice(1)}`;
}

/** A tick of one parcel among several: whom it is for, and what is in it. */
export type Parcel = { readonly id: string; readonly name: string; readonly detail: string };

export function parcelsOf(say: Say, { orders }: Next): Parcel[] {
  return orders.map((order) => ({
    id: order.id,
    name: order.dropoff.name ?? order.dropoff.line1,
    detail: [nameOf(say, order), ...itemsOf(say, order)].join(' · '),
  }));
}

/** The button of a stop; null while a photo is missing. */
export type Primary = {
  readonly kind: 'pick-up' | 'arrive' | 'deliver' | 'return';
  readonly text: string;
  /** The orders that it applies to; none while the driver has to tick some. */
  readonly orderIds: readonly string[];
};

/**
 * @param ticked the orders that the driver has ticked, where a stop has several
 * @param hasPhoto whether a photo of the handover was taken
 */
export function primaryOf(
  say: Say,
  { stop, orders, atDoor }: Next,
  ticked: ReadonlySet<string>,
  hasPhoto: boolean,
): Primary | null {
  const ids = orders.map(({ id }) => id);
  if (stop.kind === 'dropoff') {
    if (!atDoor) return { kind: 'arrive', text: say('arrive'), orderIds: ids };
    return hasPhoto ? { kind: 'deliver', text: say('deliver'), orderIds: ids } : null;
  }
  const isReturn = stop.kind === 'return';
  const kind = isReturn ? 'return' : 'pick-up';
  if (ids.length === 1) return { kind, text: say(isReturn ? 'returned' : 'pickUp'), orderIds: ids };
  const orderIds = ids.filter((id) => ticked.has(id));
  if (orderIds.length === 0) return { kind, text: say('tickFirst'), orderIds };
  const text = say(isReturn ? 'returnedSome' : 'pickUpSome', { count: orderIds.length, all: ids.length });
  return { kind, text, orderIds };
}

/** How a driver gets rid of what the next stop is about; null where they cannot. */
export type GiveUp = {
  readonly kind: 'release' | 'undeliverable';
  readonly text: string;
  /** The orders that it may apply to. */
  readonly orders: readonly DriverOrder[];
};

/** @param all every order that the driver carries, those of the next stop first */
export function giveUpOf(say: Say, { stop, orders }: Next, all: readonly DriverOrder[]): GiveUp | null {
  if (stop.kind === 'return') return null;
  if (stop.kind === 'dropoff') return { kind: 'undeliverable', text: say('undeliverable'), orders };
  const others = all.filter((each) => each.status === 'driver_assigned' && !orders.includes(each));
  const several = orders.length + others.length > 1;
  return { kind: 'release', text: say(several ? 'releaseSome' : 'releaseOne'), orders: [...orders, ...others] };
}

/** One of the stops after the next one. */
export type Entry = {
  readonly title: string;
  readonly detail: string;
  /** Whether the driver can make it before the others. */
  readonly canGo: boolean;
  readonly kind: Stop['kind'];
  readonly orderId: string;
};

export function entriesOf(say: Say, stops: readonly Stop[], all: readonly DriverOrder[]): Entry[] {
  return stops.slice(1).flatMap((stop) => {
    const orders = ordersOf(stop, all);
    const [order] = orders;
    if (!order) return [];
    const time = clock(say, order.deliver_by);
    const parcels = orders.length > 1 ? say('parcels', { count: orders.length }) : null;
    const by = stop.kind === 'dropoff' && time ? say('by', { time }) : null;
    const detail = [detailOf(say, stop, order), parcels, by].filter(Boolean).join(' · ');
    return [
      { title: titleOf(say, stop, order), detail, canGo: canGoTo(stop, all), kind: stop.kind, orderId: order.id },
    ];
  });
}

function titleOf(say: Say, { kind }: Stop, { store_name, dropoff: { name } }: DriverOrder): string {
  if (kind === 'pickup') return say('stopPickup', { name: store_name });
  if (kind === 'return') return say('stopReturn', { name: store_name });
  return name === null ? say('stopDropoffUnnamed') : say('stopDropoff', { name });
}

/** Where the parcel goes, as far as the driver is told before the pickup. */
function detailOf(say: Say, { kind }: Stop, order: DriverOrder): string {
  if (kind !== 'dropoff') return order.pickup.address;
  const { name, line1, line2, city, state, zip } = order.dropoff;
  const address = [line1, line2, `${city}, ${state} ${zip}`].filter(Boolean).join(', ');
  return name === null ? `${address}. ${say('namesLater')}` : address;
}

/** The whole route in one line; null for a single order, whose payout stands above it. */
export function routeTotal(say: Say, stops: readonly Stop[], orders: readonly DriverOrder[]): string | null {
  if (orders.length < 2) return null;
  const cents = orders.reduce((sum, { driver_payout_cents }) => sum + driver_payout_cents, 0);
  return say('routeTotal', { orders: orders.length, count: stops.length, earned: money(cents) });
}
