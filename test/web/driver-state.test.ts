import { describe, expect, it } from 'vitest';
import { mapsLink, newActionId, phoneLink } from '../../src/web/driver-phone.ts';
import {
  type Action,
  type ActionKind,
  type DriverOrder,
  notBefore,
  withActions,
  withKnownCustomer,
  withoutCustomer,
} from '../../src/web/driver-state.ts';
import {
  dutyDetail,
  finishedWords,
  idleWords,
  orderWords,
  refusalWords,
  waitingWords,
} from '../../src/web/driver-words.ts';

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
const did = (kind: ActionKind, orderId = 'order-1'): Action => ({
  id: kind,
  number: 1,
  orderId,
  kind,
  reason: null,
  capturedAt: '2026-03-02T15:00:00.000Z',
  photo: null,
});

describe('the order that is shown', () => {
  it('is as it will be when everything done here has been sent', () => {
    expect(withActions(ORDER, []).order?.status).toBe('driver_assigned');
    expect(withActions(ORDER, [did('pick-up')]).order?.status).toBe('picked_up');
    expect(withActions(ORDER, [did('pick-up'), did('undeliverable')]).order?.status).toBe('undeliverable');
    const delivered = withActions(ORDER, [did('pick-up'), did('deliver')]);
    expect(delivered.order).toBeNull();
    expect(delivered.ended).toMatchObject({ kind: 'deliver', order: { id: 'order-1', status: 'picked_up' } });
    expect(withActions(ORDER, [did('release')]).ended?.kind).toBe('release');
  });

  it('is not changed by actions on another order', () => {
    expect(withActions(ORDER, [did('pick-up', 'order-0')])).toEqual({ order: ORDER, ended: null });
    expect(withActions(null, [did('deliver')])).toEqual({ order: null, ended: null });
  });

  it('does not go back to before an answer when older news arrives after it', () => {
    const answered = { orderId: 'order-1', status: 'picked_up', sequence: 3 };
    expect(notBefore(ORDER, answered)).toMatchObject({ status: 'picked_up', sequence: 3 });
    expect(notBefore(ORDER, { ...answered, status: 'delivered', sequence: 4 })).toBeNull();
    const newer = { ...ORDER, status: 'undeliverable', sequence: 5 };
    expect(notBefore(newer, answered)).toBe(newer);
    expect(notBefore(ORDER, { ...answered, orderId: 'order-0' })).toBe(ORDER);
    expect(notBefore(null, answered)).toBeNull();
  });

  it('names the customer on, whom the service named near the store', () => {
    const far = { ...ORDER, sequence: 3, items: null, dropoff: UNNAMED };
    expect(withKnownCustomer(far, ORDER)).toEqual({ ...ORDER, sequence: 3 });
    expect(withKnownCustomer(ORDER, far)).toBe(ORDER);
    expect(withKnownCustomer({ ...far, id: 'order-2' }, ORDER)?.dropoff).toBe(UNNAMED);
    expect([withKnownCustomer(null, ORDER), withKnownCustomer(far, null)]).toEqual([null, far]);
  });

  it('is kept without name, phone, unit, items and notes once it is over', () => {
    const order = { ...ORDER, dropoff: { ...ORDER.dropoff, line2: 'Apt 12' } };
    const unnamed = { ...ORDER, items: null, dropoff: UNNAMED };
    expect(withoutCustomer({ on_duty: true, order })).toEqual({ on_duty: true, order: unnamed });
    expect(withoutCustomer({ on_duty: true, order: null })).toEqual({ on_duty: true, order: null });
  });
});

describe('the notes of the page', () => {
  const notes = (order: DriverOrder) => orderWords(order, false).notes;
  const items = { title: 'Items', list: ['1 × Floor lamp', '12 × Bulb'] };

  it('are those of the store until the pickup, and those of the door after it', () => {
    expect(notes(ORDER)).toEqual([{ title: 'At the store', text: 'Back door\nAsk for Jo' }, items]);
    expect(notes({ ...ORDER, status: 'picked_up' })).toEqual([
      { title: 'At the door', text: 'Leave it at the door.' },
      { title: 'Instructions', text: 'Code 1234' },
      items,
    ]);
    expect(notes({ ...ORDER, status: 'undeliverable' })).toEqual([]);
  });

  it('are none where nothing is asked or told, or the page of before kept the order', () => {
    const plain = { ...ORDER.dropoff, instructions: null, leave_at_door: false };
    const silent = { ...ORDER, items: [], pickup: { ...ORDER.pickup, instructions: null }, dropoff: plain };
    const { items: _items, ...older } = { ...ORDER, pickup: { address: 'x', lat: 0, lng: 0 } };
    for (const order of [silent, { ...silent, items: null }, older]) expect(notes(order)).toEqual([]);
    expect(notes({ ...silent, status: 'picked_up' })).toEqual([]);
  });
});

describe('the words of the page', () => {
  it('name the place of each step and the one button for it', () => {
    expect(orderWords(ORDER, false)).toMatchObject({
      step: 'Pick up at',
      headline: 'Corner Books',
      address: '1 Main St',
      primary: { kind: 'pick-up' },
      giveUp: { kind: 'release' },
    });
    const underWay = { ...ORDER, status: 'picked_up' };
    expect(orderWords(underWay, false)).toMatchObject({
      step: 'Deliver to',
      headline: 'Jordan Lee',
      address: '401 Valencia St, San Francisco, CA 94103',
      primary: null,
      giveUp: { kind: 'undeliverable' },
    });
    expect(orderWords(underWay, true).primary?.kind).toBe('deliver');
    expect(orderWords({ ...ORDER, status: 'undeliverable' }, false)).toMatchObject({
      headline: 'Corner Books',
      primary: { kind: 'return' },
      giveUp: null,
    });
  });

  it('name what is not sent, and confirm what is', () => {
    expect(waitingWords([], false)).toBeNull();
    expect(waitingWords([did('release')], false)).toBe('Waiting for network: Given back');
    const actions = [did('pick-up'), did('deliver')];
    expect(waitingWords(actions, false)).toBe('Waiting for network: Picked up, Delivered');
    expect(waitingWords(actions, true)).toBe('Not sent yet, trying again: Picked up, Delivered');
    expect(finishedWords({ kind: 'deliver', orderId: 'order-abcdef' })).toBe('Delivered · #abcdef');
  });

  it('say what there is to wait for while there is no order', () => {
    const idle = { ended: null, late: false, onDuty: true, located: true };
    expect(idleWords(idle).headline).toBe('Waiting for an order');
    expect(idleWords({ ...idle, located: false }).headline).toBe('No order can reach you');
    expect(idleWords({ ...idle, onDuty: false, located: false }).headline).toBe('You are off duty');
    const ended = { kind: 'deliver', order: ORDER } as const;
    expect(idleWords({ ...idle, ended })).toEqual({ headline: 'Delivered', detail: 'Sending…' });
    expect(idleWords({ ...idle, ended, late: true }).detail).toMatch(/^Not sent yet/);
  });

  it('leave out of the maps what only helps at the door', () => {
    const dropoff = { ...ORDER.dropoff, line2: 'Apt 12, ring twice' };
    const words = orderWords({ ...ORDER, status: 'picked_up', dropoff }, false);
    expect(words.address).toBe('401 Valencia St, Apt 12, ring twice, San Francisco, CA 94103');
    expect(words.place).toBe('401 Valencia St, San Francisco, CA 94103');
    expect(orderWords({ ...ORDER, dropoff }, false).place).toBe('1 Main St');
  });

  it('do without a customer whom the service has not named', () => {
    const far = { ...ORDER, dropoff: UNNAMED };
    expect(orderWords(far, false).next).toBe(
      '401 Valencia St, San Francisco, CA 94103. The name comes when you are at the store.',
    );
    // Picked up without a network.
    expect(orderWords({ ...far, status: 'picked_up' }, false)).toMatchObject({
      headline: 'The customer',
      address: '401 Valencia St, San Francisco, CA 94103',
    });
  });

  it('say plainly that something was refused', () => {
    expect(refusalWords(did('pick-up'), 'The order is cancelled; nothing was changed.')).toBe(
      '“Picked up” was not accepted and is not sent again. The order is cancelled; nothing was changed.',
    );
  });

  it('say how old the position is', () => {
    const detail = (positionAgeMs: number | null) =>
      dutyDetail({ waits: false, watched: true, positionAgeMs, offline: false });
    expect(detail(null)).toBe('Finding your position…');
    expect(detail(12_000)).toBe('Position sent just now');
    expect(detail(60_000)).toBe('Position sent 1 min ago');
    const waiting = { waits: false, watched: true, positionAgeMs: 0, offline: true };
    expect(dutyDetail(waiting)).toBe('Position not sent');
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
