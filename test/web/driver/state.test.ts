import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { mapsLink, newActionId, phoneLink } from '../../../src/web/driver/phone.ts';
import { farFromDoor, ordersAt, stopsLeft, wayMeters } from '../../../src/web/driver/route.ts';
import {
  type Action,
  type ActionKind,
  type DriverOrder,
  notBefore,
  type Refusal,
  type Stop,
  stateOf,
  withActions,
  withKnownCustomer,
  withoutCustomers,
} from '../../../src/web/driver/state.ts';
import {
  entriesOf,
  factsOf,
  giveUpOf,
  type Next,
  nextOf,
  primaryOf,
  routeTotal,
  stopWords,
} from '../../../src/web/driver/stop-words.ts';
import {
  clock,
  dayWords,
  distanceWords,
  dutyDetail,
  dutyWords,
  finishedWords,
  idleWords,
  lostWords,
  refusalWords,
  waitingWords,
} from '../../../src/web/driver/words.ts';
import { DRIVER_EN, type DriverText } from '../../../src/words/driver-en.ts';
import { DRIVER_ES } from '../../../src/words/driver-es.ts';
import { speaker } from '../../../src/words/words.ts';

/** A moment of a day of June by the clock of this machine. */
const inJune = (day: number, hours: number, minutes = 0) => new Date(2030, 5, day, hours, minutes);
// How a time is said depends on the day that it is.
beforeAll(() => void vi.setSystemTime(inJune(4, 12)));
afterAll(() => void vi.useRealTimers());

const say = speaker<DriverText>(DRIVER_EN);
const decir = speaker<DriverText>(DRIVER_ES);

const ORDER: DriverOrder = {
  id: 'order-1',
  status: 'driver_assigned',
  sequence: 2,
  delivery_tier: 'standard',
  driver_payout_cents: 599,
  store_name: 'Corner Books',
  items: [
    { name: 'Floor lamp', quantity: 1 },
    { name: 'Bulb', quantity: 12 },
  ],
  pickup: { address: '1 Main St', lat: 40, lng: -74, instructions: 'Back door\nAsk for Jo' },
  dropoff: {
    name: 'Jordan Lee',
    phone: '+14155550123',
    line1: '401 Valencia St',
    line2: null,
    city: 'San Francisco',
    state: 'CA',
    zip: '94103',
    instructions: 'Code 1234',
    leave_at_door: true,
  },
};
const UNNAMED = { ...ORDER.dropoff, name: null, phone: null, line2: null, instructions: null, leave_at_door: null };
const refused = (kind: ActionKind, refusal: Refusal): Action => ({ ...did(kind), refusal });
const did = (kind: ActionKind, orderId = 'order-1'): Action => ({
  id: kind,
  number: 1,
  orderId,
  kind,
  reason: null,
  capturedAt: '2026-03-02T15:00:00.000Z',
  photo: null,
});

/** An order of the same store in another status. */
const other = (id: string, status = 'driver_assigned', changes: Partial<DriverOrder> = {}): DriverOrder => ({
  ...ORDER,
  id,
  status,
  ...changes,
});
const UNDER_WAY = other('order-1', 'picked_up');
const FAR_STORE = { address: '9 Oak St, Reno, NV 89501', lat: 41, lng: -74 };

describe('the state', () => {
  it('is the same of a service of before, and of what the page of before kept', () => {
    const before = stateOf({ on_duty: true, order: ORDER });
    expect(before).toEqual({
      driver_id: null,
      driver_name: null,
      on_duty: true,
      on_duty_until: null,
      orders: [ORDER],
      stops: [],
      wait_at: null,
    });
    expect(stateOf({ on_duty: false, order: null }).orders).toEqual([]);
    const until = '2026-03-02T18:00:00.000Z';
    const told = { on_duty: true, on_duty_until: until, order: ORDER, orders: [ORDER, UNDER_WAY], stops: [] };
    expect(stateOf(told)).toMatchObject({ on_duty_until: until, orders: [ORDER, UNDER_WAY] });
  });

  it('is kept without name, phone, unit, items and notes of those orders that are over', () => {
    const order = { ...ORDER, dropoff: { ...ORDER.dropoff, line2: 'Apt 12' } };
    const state = stateOf({ on_duty: true, orders: [order, other('order-2')] });
    const unnamed = { ...ORDER, items: null, dropoff: UNNAMED };
    const kept = withoutCustomers(state, (id) => id === 'order-1');
    expect(kept).toEqual({ ...state, orders: [unnamed, other('order-2')] });
  });
});

describe('the orders that are shown', () => {
  const withDone = (...actions: Action[]) => withActions([ORDER, other('order-2')], actions);

  it('are as they will be when everything done here has been sent', () => {
    const statuses = (...actions: Action[]) => withDone(...actions).orders.map(({ status }) => status);
    expect(statuses()).toEqual(['driver_assigned', 'driver_assigned']);
    expect(statuses(did('pick-up'), did('pick-up', 'order-2'))).toEqual(['picked_up', 'picked_up']);
    expect(statuses(did('pick-up', 'order-2'), did('undeliverable', 'order-2'))).toEqual([
      'driver_assigned',
      'undeliverable',
    ]);
    const delivered = withDone(did('pick-up'), did('deliver'));
    expect(delivered.orders.map(({ id }) => id)).toEqual(['order-2']);
    expect(delivered.ended).toMatchObject({ kind: 'deliver', order: { id: 'order-1', status: 'picked_up' } });
    expect(withDone(did('release'), did('release', 'order-2'))).toMatchObject({
      orders: [],
      ended: { kind: 'release' },
    });
  });

  it('are not changed by actions on another order', () => {
    expect(withActions([ORDER], [did('pick-up', 'order-0')])).toEqual({ orders: [ORDER], ended: null });
    expect(withActions([], [did('deliver')])).toEqual({ orders: [], ended: null });
  });

  it('do not go back to before an answer when older news arrives after it', () => {
    const answered = { orderId: 'order-1', status: 'picked_up', sequence: 3 };
    expect(notBefore(ORDER, answered)).toMatchObject({ status: 'picked_up', sequence: 3 });
    expect(notBefore(ORDER, { ...answered, status: 'delivered', sequence: 4 })).toBeNull();
    const newer = { ...ORDER, status: 'undeliverable', sequence: 5 };
    expect(notBefore(newer, answered)).toBe(newer);
    expect(notBefore(ORDER, undefined)).toBe(ORDER);
  });

  it('name the customer on, whom the service named near the store', () => {
    const far = { ...ORDER, sequence: 3, items: null, dropoff: UNNAMED };
    expect(withKnownCustomer(far, ORDER)).toEqual({ ...ORDER, sequence: 3 });
    expect(withKnownCustomer(ORDER, far)).toBe(ORDER);
    expect(withKnownCustomer(far, undefined)).toBe(far);
  });

  it('are those that the driver knew, while they are at a door', () => {
    const orders = [UNDER_WAY, other('order-2')];
    expect(ordersAt(orders, { orderId: 'order-1', knownIds: ['order-1'] })).toEqual([UNDER_WAY]);
    expect(ordersAt(orders, null)).toEqual(orders);
  });
});

describe('the stops that are left', () => {
  const PLANNED: Stop[] = [
    { kind: 'pickup', lat: 40, lng: -74, order_ids: ['order-1', 'order-2'] },
    { kind: 'dropoff', lat: 40.1, lng: -74, order_ids: ['order-2'] },
    { kind: 'dropoff', lat: 40.2, lng: -74, order_ids: ['order-1'] },
  ];
  const left = (orders: DriverOrder[], planned = PLANNED, choice: Parameters<typeof stopsLeft>[2] = null) =>
    stopsLeft(planned, orders, choice).map(({ kind, order_ids }) => `${kind} ${order_ids.join('+')}`);

  it('are those of the service without what was done since', () => {
    expect(left([ORDER, other('order-2')])).toEqual(['pickup order-1+order-2', 'dropoff order-2', 'dropoff order-1']);
    expect(left([UNDER_WAY, other('order-2')])).toEqual(['pickup order-2', 'dropoff order-2', 'dropoff order-1']);
    expect(left([UNDER_WAY, other('order-2', 'picked_up')])).toEqual(['dropoff order-2', 'dropoff order-1']);
    expect(left([UNDER_WAY])).toEqual(['dropoff order-1']);
    expect(left([])).toEqual([]);
  });

  it('have a way back for a parcel that could not be delivered, one for those of a store', () => {
    const back = [other('order-1', 'undeliverable'), other('order-2', 'undeliverable')];
    expect(left(back)).toEqual(['return order-1+order-2']);
    const apart = [other('order-1', 'undeliverable', { pickup: FAR_STORE }), other('order-2', 'undeliverable')];
    expect(left(apart)).toEqual(['return order-1', 'return order-2']);
    expect(left([UNDER_WAY, other('order-2', 'undeliverable')])).toEqual(['dropoff order-1', 'return order-2']);
  });

  it('are made up where a service of before plans none', () => {
    expect(left([ORDER], [])).toEqual(['pickup order-1', 'dropoff order-1']);
    expect(stopsLeft([], [ORDER], null)[1]).toMatchObject({ lat: null, lng: null });
    expect(left([UNDER_WAY], [])).toEqual(['dropoff order-1']);
  });

  it('begin with one that can be made, and with that which the driver chose', () => {
    const doorFirst = [...PLANNED].reverse();
    expect(left([ORDER, other('order-2')], doorFirst)[0]).toBe('pickup order-1+order-2');
    const both = [UNDER_WAY, other('order-2', 'picked_up')];
    expect(left(both, PLANNED, { kind: 'dropoff', orderId: 'order-1' })).toEqual([
      'dropoff order-1',
      'dropoff order-2',
    ]);
    // Not picked up yet.
    const early = left([ORDER, other('order-2')], PLANNED, { kind: 'dropoff', orderId: 'order-1' });
    expect(early[0]).toBe('pickup order-1+order-2');
    // Made already.
    expect(left(both, PLANNED, { kind: 'pickup', orderId: 'order-1' })[0]).toBe('dropoff order-2');
  });

  it('hand over each parcel by itself', () => {
    const together: Stop[] = [{ kind: 'dropoff', lat: 40, lng: -74, order_ids: ['order-1', 'order-2'] }];
    const orders = [UNDER_WAY, other('order-2', 'picked_up')];
    expect(left(orders, together)).toEqual(['dropoff order-1', 'dropoff order-2']);
  });

  it('say how far they are, and whether the driver is surely elsewhere', () => {
    const at = (lat: number) => ({ lat, lng: -74, accuracyMeters: 20 });
    const door: Stop = { kind: 'dropoff', lat: 40, lng: -74, order_ids: ['order-1'] };
    // A tenth of a degree of latitude is 11.1 km in a straight line.
    expect(wayMeters(at(40.1), door)).toBeCloseTo(11_119.5 * 1.35, -1);
    expect(farFromDoor(at(40.004), door, 300)).toBeCloseTo(444.8, 0);
    expect(farFromDoor({ ...at(40.004), accuracyMeters: 200 }, door, 300)).toBeNull();
    expect(farFromDoor(at(40.004), { ...door, accuracy_m: 200 }, 300)).toBeNull();
    expect(farFromDoor(at(40.002), door, 300)).toBeNull();
    expect([farFromDoor(null, door, 300), farFromDoor(at(41), { ...door, lat: null }, 300)]).toEqual([null, null]);
    expect([wayMeters(null, door), wayMeters(at(40), { ...door, lng: null })]).toEqual([null, null]);
  });
});

/** The next stop of these orders, as the page makes it up. */
function next(orders: DriverOrder[], doorOrderId: string | null = null): Next {
  const found = nextOf(stopsLeft([], orders, null), orders, doorOrderId);
  if (!found) throw new Error('there is no stop');
  return found;
}

describe('the notes of a stop', () => {
  const notes = (...orders: DriverOrder[]) => stopWords(say, next(orders)).notes;
  const items = { title: 'Items', list: ['1 × Floor lamp', '12 × Bulb'] };
  const unitOf = (line2: string) => other('order-1', 'picked_up', { dropoff: { ...ORDER.dropoff, line2 } });

  it('are those of the store until the pickup, and those of the door after it, the unit first', () => {
    expect(notes(ORDER)).toEqual([{ title: 'At the store', text: 'Back door\nAsk for Jo' }, items]);
    expect(notes(unitOf('Apt 12'))).toEqual([
      { title: 'Unit', text: 'Apt 12' },
      { title: 'At the door', text: 'Leave it at the door.' },
      { title: 'Instructions', text: 'Code 1234' },
      items,
    ]);
    expect(notes(other('order-1', 'undeliverable'))).toEqual([]);
  });

  it('are said once where several orders of a store ask for the same', () => {
    const asks = { ...ORDER.pickup, instructions: 'Door 3' };
    const said = notes(ORDER, other('order-2'), other('order-3', 'driver_assigned', { pickup: asks }));
    expect(said.map(({ text }) => text)).toEqual(['Back door\nAsk for Jo', 'Door 3']);
  });

  it('are none where nothing is asked or told, or the page of before kept the order', () => {
    const plain = { ...ORDER.dropoff, instructions: null, leave_at_door: false };
    const silent = { ...ORDER, items: [], pickup: { ...ORDER.pickup, instructions: null }, dropoff: plain };
    const { items: _items, ...older } = { ...ORDER, pickup: { address: 'x', lat: 0, lng: 0 } };
    for (const order of [silent, { ...silent, items: null }, older]) expect(notes(order)).toEqual([]);
    expect(notes({ ...silent, status: 'picked_up' })).toEqual([]);
  });
});

describe('the words of a stop', () => {
  const words = (order: DriverOrder, doorOrderId: string | null = null) => stopWords(say, next([order], doorOrderId));
  const button = (orders: DriverOrder[], ticked: string[] = [], hasPhoto = false, doorOrderId: string | null = null) =>
    primaryOf(say, next(orders, doorOrderId), new Set(ticked), hasPhoto);

  it('name the place of each step, its address in lines', () => {
    expect(words({ ...ORDER, pickup: FAR_STORE })).toMatchObject({
      step: 'Pick up at',
      headline: 'Corner Books',
      lines: ['9 Oak St', 'Reno, NV 89501'],
      place: '9 Oak St, Reno, NV 89501',
    });
    const door = { lines: ['401 Valencia St', 'San Francisco, CA 94103'], headline: 'Jordan Lee' };
    expect(words(UNDER_WAY)).toMatchObject({ ...door, step: 'Deliver to' });
    expect(words(UNDER_WAY, 'order-1')).toMatchObject({ ...door, step: 'At the door of' });
    expect(words(other('order-1', 'undeliverable'))).toMatchObject({ step: 'Bring back to', headline: 'Corner Books' });
    expect(stopWords(decir, next([UNDER_WAY])).step).toBe('Entregar a');
  });

  it('have one button for each step', () => {
    expect(button([ORDER])).toEqual({ kind: 'pick-up', text: 'Picked up', orderIds: ['order-1'] });
    expect(button([UNDER_WAY])).toMatchObject({ kind: 'arrive', text: 'I have arrived' });
    expect(button([UNDER_WAY], [], false, 'order-1')).toBeNull();
    expect(button([UNDER_WAY], [], true, 'order-1')).toMatchObject({ kind: 'deliver', orderIds: ['order-1'] });
    expect(button([other('order-1', 'undeliverable')])).toMatchObject({ kind: 'return', orderIds: ['order-1'] });
  });

  it('take the ticked ones of several parcels', () => {
    const two = [ORDER, other('order-2')];
    expect(button(two)).toMatchObject({ kind: 'pick-up', text: 'Tick the parcels first', orderIds: [] });
    expect(button(two, ['order-2', 'order-9'])).toMatchObject({ text: 'Picked up 1 of 2', orderIds: ['order-2'] });
    const back = two.map((order) => ({ ...order, status: 'undeliverable' }));
    expect(button(back, ['order-1', 'order-2'])).toMatchObject({ kind: 'return', text: 'Returned 2 of 2' });
  });

  it('give back one order or any that is not picked up, and nothing that is', () => {
    const giveUp = (...orders: DriverOrder[]) => giveUpOf(say, next(orders), orders);
    expect(giveUp(ORDER)).toMatchObject({ kind: 'release', text: 'Give this order back', orders: [ORDER] });
    const elsewhere = other('order-3', 'driver_assigned', { pickup: FAR_STORE });
    const several = giveUp(ORDER, other('order-2', 'picked_up'), elsewhere);
    expect(several?.text).toBe('Give orders back');
    expect(several?.orders.map(({ id }) => id)).toEqual(['order-1', 'order-3']);
    expect(giveUp(UNDER_WAY)).toMatchObject({ kind: 'undeliverable', orders: [UNDER_WAY] });
    expect(giveUp(other('order-1', 'undeliverable'))).toBeNull();
  });

  it('say what it earns, how far it is and until when', () => {
    const deliver_by = inJune(4, 18, 30).toISOString();
    const two = next([{ ...ORDER, deliver_by }, other('order-2')]);
    expect(factsOf(say, two, 2_500)).toEqual(['Earn $11.98 for 2', '1.6 mi', expect.stringMatching(/^by 6:30.PM$/)]);
    expect(factsOf(say, next([ORDER]), null)).toEqual(['Earn $5.99']);
  });

  it('list the other stops and the whole route', () => {
    const orders = [ORDER, other('order-2', 'picked_up', { dropoff: { ...ORDER.dropoff, line2: 'Apt 12' } })];
    const stops = stopsLeft([], orders, null);
    expect(entriesOf(say, stops, orders)).toMatchObject([
      { title: 'Deliver to Jordan Lee', canGo: false, detail: '401 Valencia St, San Francisco, CA 94103' },
      { title: 'Deliver to Jordan Lee', canGo: true, detail: '401 Valencia St, Apt 12, San Francisco, CA 94103' },
    ]);
    expect(routeTotal(say, stops, orders)).toBe('Route: 2 orders, 3 stops · $11.98');
    const back = orders.map((order) => ({ ...order, status: 'undeliverable' }));
    expect(routeTotal(say, stopsLeft([], back, null), back)).toBe('Route: 2 orders, 1 stop · $11.98');
    expect(routeTotal(say, stops, [ORDER])).toBeNull();
  });

  it('do without a customer whom the service has not named', () => {
    const far = { ...ORDER, dropoff: UNNAMED };
    expect(entriesOf(say, stopsLeft([], [far], null), [far])).toMatchObject([
      {
        title: 'Deliver',
        detail: '401 Valencia St, San Francisco, CA 94103. The name comes when you are at the store.',
      },
    ]);
    // Picked up without a network.
    expect(words({ ...far, status: 'picked_up' }).headline).toBe('The customer');
  });
});

describe('the words of the page', () => {
  it('name what is not sent, and confirm what is', () => {
    expect(waitingWords(say, [], false)).toBeNull();
    expect(waitingWords(say, [did('release')], false)).toBe('Waiting for network: Given back');
    const actions = [did('pick-up'), did('pick-up', 'order-2'), did('deliver')];
    expect(waitingWords(say, actions, false)).toBe('Waiting for network: Picked up (2), Delivered');
    expect(waitingWords(say, actions, true)).toBe('Not sent yet, trying again: Picked up (2), Delivered');
    expect(waitingWords(decir, actions, false)).toBe('Esperando red: Recogido (2), Entregado');
    expect(finishedWords(say, { kind: 'deliver', orderId: 'order-abcdef' })).toBe('Delivered · #abcdef');
  });

  it('say what there is to wait for while there is no order', () => {
    const idle = { ended: null, late: false, onDuty: true, located: true, isMute: false, waitAt: null };
    const words = (changes: object) => idleWords(say, { ...idle, ...changes });
    expect(words({}).headline).toBe('Waiting for an order');
    expect(words({ located: false }).headline).toBe('No order can reach you');
    expect(words({ onDuty: false, located: false }).headline).toBe('You are off duty');
    const ended = { kind: 'deliver', order: ORDER } as const;
    expect(words({ ended })).toEqual({ headline: 'Delivered', detail: 'Sending…', waitAt: null });
    expect(words({ ended, late: true }).detail).toMatch(/^Not sent yet/);
  });

  it('say where to wait, unless something else is more urgent', () => {
    const waitAt = { lat: 37.76, lng: -122.42, name: 'Corner Books' };
    const idle = { ended: null, late: false, onDuty: true, located: true, isMute: false, waitAt };
    expect(idleWords(say, idle)).toMatchObject({ headline: 'Wait near Corner Books', waitAt });
    expect(idleWords(decir, idle).headline).toBe('Espera cerca de Corner Books');
    expect(idleWords(say, { ...idle, isMute: true }).detail).toMatch(/^Touch this page/);
    const unnamed = { ...waitAt, name: null };
    expect(idleWords(say, { ...idle, waitAt: unnamed }).headline).toBe('Wait near the store on the map');
    const ended = { kind: 'deliver', order: ORDER } as const;
    for (const changes of [{ onDuty: false }, { located: false }, { ended }]) {
      expect(idleWords(say, { ...idle, ...changes }).waitAt).toBeNull();
    }
  });

  it('say plainly that something was refused, in the reader’s language where the code is known', () => {
    const refusal = { code: 'illegal_transition', message: 'The order is cancelled.', retryAfterSeconds: null };
    expect(refusalWords(say, refused('pick-up', refusal))).toBe(
      '“Picked up · #rder-1” was not accepted and is not sent again. The order was cancelled or changed meanwhile.',
    );
    expect(refusalWords(decir, refused('pick-up', refusal))).toBe(
      'No se aceptó “Recogido · #rder-1” y no se envía otra vez. El pedido se canceló o cambió entretanto.',
    );
    const taken = refused('pick-up', { ...refusal, code: 'not_found' });
    expect(refusalWords(say, taken, 'Corner Books')).toMatch(
      / not yours any more\. If you have the parcel, bring it back to Corner Books, or ask your operator\.$/,
    );
    expect(refusalWords(decir, refused('pick-up', refusal), 'Corner Books')).toMatch(
      / Si tienes el paquete, devuélvelo a Corner Books o pregunta a tu operador\.$/,
    );
    // Who hands over has no parcel any more, and who may pick up later is told so.
    for (const other of [refused('deliver', refusal), refused('pick-up', { ...refusal, code: 'gone' })]) {
      expect(refusalWords(say, other, 'Corner Books')).not.toContain('bring it back');
    }
    expect(refusalWords(decir, refused('pick-up', { ...refusal, code: 'gone' }))).toMatch(/ The order is cancelled\.$/);
    const often = { code: 'too_many_releases', message: 'Wait.', retryAfterSeconds: 61 };
    expect(refusalWords(say, refused('release', often))).toMatch(/back again in 2 minutes\./);
    expect(refusalWords(say, refused('release', { ...often, retryAfterSeconds: null }))).toMatch(/ Wait\.$/);
  });

  it('say plainly which orders are gone', () => {
    expect(lostWords(say, [ORDER, other('order-2')])).toBe(
      'The order at Corner Books (#rder-1) is off your route. It was cancelled, given to another driver, or ended on another phone of yours. ' +
        'The order at Corner Books (#rder-2) is off your route. It was cancelled, given to another driver, or ended on another phone of yours.',
    );
  });

  it('say how old the position is, and what it is of', () => {
    const detail = (positionAgeMs: number | null) =>
      dutyDetail(say, { waits: false, watched: true, positionAgeMs, offline: false });
    expect(detail(null)).toBe('Finding your position…');
    expect(detail(12_000)).toBe('Position sent just now');
    expect(detail(60_000)).toBe('Your position is 1 min old');
    expect(detail(4_000_000)).toBe('Your position is more than an hour old');
    expect(dutyDetail(say, { waits: false, watched: true, positionAgeMs: 0, offline: true })).toBe('Position not sent');
  });

  it('say the duty, its end, and that what is carried is the last', () => {
    const six = inJune(4, 18).toISOString();
    expect(dutyWords(say, true, null, false)).toBe('On duty');
    expect(dutyWords(say, true, six, false)).toMatch(/^On duty until 6:00.PM$/);
    expect([dutyWords(say, false, six, false), dutyWords(say, false, null, true)]).toEqual([
      'Off duty',
      'No new orders',
    ]);
    expect([clock(say, 'soon'), clock(say, null)]).toEqual([null, null]);
    // No line ends before "AM", whichever space a browser writes.
    expect(clock(say, inJune(5, 0).toISOString())).toMatch(/^Wed,? 12:00[\u00a0\u202f]AM$/);
  });

  it('say what the driver did today', () => {
    const day = { deliveries: 1, earnings_cents: 550, held_cents: 0 };
    expect(dayWords(say, null)).toBeNull();
    expect(dayWords(say, day)).toBe('Today: 1 delivery · $5.50');
    const held = { deliveries: 7, earnings_cents: 4_120, held_cents: 600 };
    expect(dayWords(say, held)).toBe('Today: 7 deliveries · $41.20. $6.00 of it is being checked');
    expect(dayWords(decir, day)).toBe('Hoy: 1 entrega · $5.50');
  });

  it('give distances as drivers in the United States read them', () => {
    const words = [3, 100, 400, 2_500, 40_000].map((meters) => distanceWords(say, meters));
    expect(words).toEqual(['50 ft', '350 ft', '0.2 mi', '1.6 mi', '25 mi']);
  });
});

describe('the links to the phone', () => {
  const address = '401 Valencia St, San Francisco, CA 94103';
  const place = '401%20Valencia%20St%2C%20San%20Francisco%2C%20CA%2094103';
  const on = (userAgent: string, maxTouchPoints = 5) => mapsLink(address, { userAgent, maxTouchPoints });

  it('open the maps that the phone has', () => {
    expect(on('Mozilla/5.0 (Linux; Android 14; Pixel 8) Chrome/130')).toBe(`geo:0,0?q=${place}`);
    expect(on('Mozilla/5.0 (iPhone; CPU iPhone OS 17_5)')).toBe(`https://maps.apple.com/?daddr=${place}`);
    expect(on('Mozilla/5.0 (Macintosh; Intel Mac OS X 10_15_7)')).toBe(`https://maps.apple.com/?daddr=${place}`);
    const web = `https://www.google.com/maps/dir/?api=1&destination=${place}`;
    expect(on('Mozilla/5.0 (Macintosh; Intel Mac OS X 10_15_7)', 0)).toBe(web);
    expect(on('Mozilla/5.0 (Windows NT 10.0; Win64; x64)', 0)).toBe(web);
  });

  it('never hold more than the address', () => {
    const evil = mapsLink('x&daddr=y#z?"<script>', { userAgent: 'Android', maxTouchPoints: 5 });
    expect(evil).toBe('geo:0,0?q=x%26daddr%3Dy%23z%3F%22%3Cscript%3E');
  });

  it('call a phone number and nothing else', () => {
    expect(phoneLink('+14155550123')).toBe('tel:+14155550123');
    for (const wrong of ['', '911', 'javascript:alert(1)', '+1 415 555', '+1415555;ext=1']) {
      expect(phoneLink(wrong)).toBeNull();
    }
  });
});

describe('the id of an action', () => {
  const UUID4 = /^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/;

  it('is a random UUID, also where the browser does not make one', () => {
    const insecure = { getRandomValues: (bytes: Uint8Array<ArrayBuffer>) => crypto.getRandomValues(bytes) };
    const ids = Array.from({ length: 200 }, () => newActionId(insecure));
    for (const id of [...ids, newActionId()]) expect(id).toMatch(UUID4);
    expect(new Set(ids).size).toBe(200);
  });
});
