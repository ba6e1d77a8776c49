import { beforeEach, expect, test } from 'vitest';
import type { DropoffNotes } from '../../src/domain/order.ts';
import type { TrackedOrder } from '../../src/domain/tracked.ts';
import { DROPOFF_CHANGES_PER_MINUTE, dropoffRoute, MAX_DROPOFF_BODY_BYTES } from '../../src/tracking/dropoff-route.ts';
import { createLinkReader } from '../../src/tracking/link.ts';
import { trackingView } from '../../src/tracking/view.ts';
import { startServer } from '../http/support.ts';
import { assigned, delivered, NOW_MS, pickedUp, TOKEN, trackedOrder } from './orders.ts';

let order: TrackedOrder | null = null;
let changes: DropoffNotes[] = [];
/** Whether the statement finds the order as the route read it. */
let isInTime = true;
/** Whether the database is gone once the notes are changed. */
let failsAfter = false;
beforeEach(() => {
  failsAfter = false;
  order = assigned();
  changes = [];
  isInTime = true;
});

/** The route alone, over an order that the test changes. */
async function start(nowMs = NOW_MS) {
  const store = {
    async findTrackedByToken(token: string) {
      if (failsAfter && changes.length > 0) throw Object.assign(new Error('gone'), { code: 'ECONNREFUSED' });
      return token === TOKEN ? order : null;
    },
  };
  const route = dropoffRoute({
    read: createLinkReader(store, () => nowMs),
    viewOf: (tracked) => trackingView(tracked, null, nowMs),
    async changeDropoff(_orderId, notes) {
      if (!isInTime || !order) return false;
      changes.push(notes);
      const { instructions, leaveAtDoor } = notes;
      order = { ...order, sequence: order.sequence + 1, dropoffInstructions: instructions, leaveAtDoor };
      return true;
    },
  });
  const { url, log } = await startServer({ routes: [route] });
  return {
    log,
    async put(body: unknown, token = TOKEN, headers: Record<string, string> = { 'content-type': 'application/json' }) {
      const text = typeof body === 'string' ? body : JSON.stringify(body);
      const reply = await fetch(`${url}/track/${token}/dropoff`, { method: 'PUT', headers, body: text });
      const json = (await reply.json()) as {
        order?: { sequence: number; dropoff_notes: unknown };
        error?: { code: string; fields: { field: string; message: string }[] };
      };
      return { status: reply.status, retryAfter: reply.headers.get('retry-after'), ...json };
    },
  };
}
const NOTES = { dropoff_instructions: 'Code 1234\nRing twice', leave_at_door: true };

test.each([
  ['that waits', trackedOrder()],
  ['with a driver', assigned()],
])('the customer of an order %s says where it goes, and gets the page’s view back', async (_what, given) => {
  order = given;
  const { put } = await start();
  const answer = await put({ ...NOTES, dropoff_instructions: ' Code 1234\r\nRing twice ' });
  expect(answer.status).toBe(200);
  expect(changes).toEqual([{ instructions: 'Code 1234\nRing twice', leaveAtDoor: true }]);
  expect(answer.order).toMatchObject({
    sequence: given.sequence + 1,
    dropoff_notes: { instructions: 'Code 1234\nRing twice', leave_at_door: true },
  });
});

test('the page’s view comes back though the order cannot be read again after the change', async () => {
  failsAfter = true;
  const { put } = await start();
  const answer = await put(NOTES);
  expect([answer.status, answer.order?.dropoff_notes]).toEqual([
    200,
    { instructions: 'Code 1234\nRing twice', leave_at_door: true },
  ]);
});

test('the same notes again change nothing, and an empty text or null takes them away', async () => {
  const { put } = await start();
  for (let time = 0; time < 2; time++) expect((await put(NOTES)).status).toBe(200);
  expect(changes).toHaveLength(1);
  for (const nothing of [null, '', ' \n ']) {
    expect((await put({ dropoff_instructions: nothing, leave_at_door: false })).status).toBe(200);
  }
  expect(changes.slice(1)).toEqual([{ instructions: null, leaveAtDoor: false }]);
});

test('what was pasted is kept with its lines, and without marks and controls that nobody sees', async () => {
  const { put } = await start();
  const pasted =
    'call \u202a+1 415 555 0123\u202c\u2028Ring\u000btwice\u2029\u2066at 4\u2069\fside\u001f\u0085door\u0000';
  const { status } = await put({ ...NOTES, dropoff_instructions: pasted });
  expect([status, changes[0]?.instructions]).toEqual([200, 'call +1 415 555 0123\nRing\ntwice\nat 4\nside\ndoor']);
});

test.each([
  ['without both', {}, ['dropoff_instructions: is required', 'leave_at_door: is required']],
  [
    'of other types',
    { dropoff_instructions: 1, leave_at_door: 'yes' },
    ['dropoff_instructions: must be a string', 'leave_at_door: must be true or false'],
  ],
  [
    'too long',
    { ...NOTES, dropoff_instructions: 'x'.repeat(501) },
    ['dropoff_instructions: must be at most 500 characters long'],
  ],
])('notes %s are refused by their fields', async (_what, body, problems) => {
  const { put } = await start();
  const { status, error } = await put(body);
  expect([status, error?.fields.map(({ field, message }) => `${field}: ${message}`)]).toEqual([400, problems]);
  expect(changes).toEqual([]);
});

test('a body that is no JSON, of another type or too large is refused', async () => {
  const { put } = await start();
  expect((await put('x')).error?.code).toBe('malformed_json');
  expect((await put(NOTES, TOKEN, { 'content-type': 'text/plain' })).status).toBe(415);
  expect((await put({ ...NOTES, more: 'x'.repeat(MAX_DROPOFF_BODY_BYTES) })).status).toBe(413);
  // The longest text there is, as some clients escape it.
  const escaped = `{"dropoff_instructions": "${'\\ud83d\\ude00'.repeat(500)}", "leave_at_door": false}`;
  expect((await put(escaped)).status).toBe(200);
});

test.each([
  ['picked up', pickedUp()],
  ['delivered', delivered({ deliveredAt: new Date(NOW_MS).toISOString() })],
  ['cancelled', trackedOrder({ status: 'cancelled', endedAt: new Date(NOW_MS).toISOString() })],
])('of an order that is %s nothing can be changed any more', async (_what, given) => {
  order = given;
  const { put } = await start();
  const { status, error } = await put(NOTES);
  expect([status, error?.code, changes]).toEqual([409, 'illegal_transition', []]);
});

test('a pickup between the look-up and the change is 409', async () => {
  isInTime = false;
  const { put } = await start();
  expect((await put(NOTES)).status).toBe(409);
});

test('an unknown link is 404 and an expired one 410, whatever the body says', async () => {
  const { put } = await start();
  expect((await put({}, 'x')).status).toBe(404);
  expect((await put(NOTES, TOKEN.replace('tok', 'kot'))).status).toBe(404);
  order = delivered();
  const late = await start(NOW_MS + 30 * 86_400_000);
  expect((await late.put({})).status).toBe(410);
});

test('the notes of one order are changed only so often a minute, and another’s go on', async () => {
  const { put } = await start();
  const change = (text: string) => put({ dropoff_instructions: text, leave_at_door: false });
  for (let n = 0; n < DROPOFF_CHANGES_PER_MINUTE; n++) expect((await change(`n ${n}`)).status).toBe(200);
  const over = await change('one more');
  expect([over.status, over.error?.code, Number(over.retryAfter) > 0]).toEqual([429, 'rate_limited', true]);
  expect(changes).toHaveLength(DROPOFF_CHANGES_PER_MINUTE);
  order = assigned({ orderId: '01900000-0000-7000-8000-000000000002' });
  expect((await change('another order')).status).toBe(200);
});
