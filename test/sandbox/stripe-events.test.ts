import { expect, test } from 'vitest';
import { STAND_IN_EVENT_TRIES } from '../../src/sandbox/stripe-events.ts';
import { openEvents } from '../harness/stripe-events.ts';

const FORM = 'amount=799&currency=usd&customer=cus_1&off_session=true&confirm=true&payment_method=';

/** The stand-in, and a receiver that answers with these statuses in turn, and then with the last one. */
async function world(statuses: number[], more: { all?: boolean; copies?: () => number } = {}) {
  const { standIn, events: tries, untilQuiet } = await openEvents(more, statuses);
  async function pay(card: string): Promise<string> {
    const reply = await fetch(`${standIn.url}/v1/payment_intents`, {
      method: 'POST',
      body: FORM + card,
      headers: { Authorization: 'Bearer sk_test_1', 'Content-Type': 'application/x-www-form-urlencoded' },
    });
    return ((await reply.json()) as { id: string }).id;
  }
  return { standIn, tries, pay, untilQuiet };
}

test('an event is sent again until its answer is a 2xx, signed anew, under the same id', async () => {
  const { standIn, tries, pay, untilQuiet } = await world([500, 404, 200]);
  const id = await pay('pm_card_processing');
  standIn.dashboard.settle(id, 'paid');
  await untilQuiet();
  expect(tries).toHaveLength(3);
  expect(new Set(tries.map((each) => each.id)).size).toBe(1);
  expect(tries[0]?.type).toBe('payment_intent.succeeded');
});

test('what a reply has told is sent only where all is asked for, and as often as is asked for', async () => {
  const quiet = await world([200]);
  await quiet.pay('pm_card_visa');
  expect(quiet.standIn.events().pending).toBe(0);
  const loud = await world([200], { all: true, copies: () => 2 });
  await loud.pay('pm_card_visa');
  await loud.pay('pm_card_chargeDeclined');
  await loud.untilQuiet();
  expect(loud.tries.map(({ type }) => type).toSorted()).toEqual([
    'payment_intent.payment_failed',
    'payment_intent.payment_failed',
    'payment_intent.succeeded',
    'payment_intent.succeeded',
  ]);
});

test('a stand-in that is closed sends nothing more', async () => {
  const { standIn, tries, pay } = await world([500]);
  standIn.dashboard.refund(await pay('pm_card_visa'), 100);
  await expect.poll(() => tries.length, { interval: 5 }).toBeGreaterThan(2);
  await standIn.close();
  // What is being sent is cut, and nothing follows it.
  await expect.poll(() => standIn.events().pending, { interval: 5 }).toBe(0);
  expect(tries.length).toBeLessThan(2 * STAND_IN_EVENT_TRIES);
});

test('an inquiry becomes a dispute, is lost and appealed, and each step is told of with its status', async () => {
  const { standIn, tries, pay, untilQuiet } = await world([200]);
  const { inquire, escalate, closeDispute, appeal } = standIn.dashboard;
  const { id } = inquire(await pay('pm_card_visa'));
  const steps = [() => escalate(id), () => closeDispute(id, 'lost'), () => appeal(id), () => closeDispute(id, 'won')];
  expect(steps.map((step) => step().status)).toEqual(['needs_response', 'lost', 'appeal_under_review', 'won']);
  await untilQuiet();
  expect(tries.map(({ type }) => type).toSorted()).toEqual([
    'charge.dispute.closed',
    'charge.dispute.closed',
    'charge.dispute.created',
    'charge.dispute.updated',
    'charge.dispute.updated',
  ]);
  expect(() => closeDispute(id, 'warning_closed')).toThrow(RangeError);
});

const JSON_TYPE = { 'Content-Type': 'application/json' };

test('the dashboard refuses what Stripe would, by its address too', async () => {
  const { standIn, pay } = await world([200]);
  const id = await pay('pm_card_visa');
  const act = async (what: string, body: object) =>
    (await fetch(`${standIn.url}/_control/${what}`, { method: 'POST', headers: JSON_TYPE, body: JSON.stringify(body) }))
      .status;
  expect([
    await act('refund', { payment_intent: id, amount: 800 }),
    await act('refund', { payment_intent: id, amount: 300 }),
    await act('refund', { payment_intent: id, amount: 500 }),
    await act('refund', { payment_intent: 'pi_none' }),
    await act('refund', {}),
    await act('settle', { payment_intent: id, outcome: 'paid' }),
    await act('close_dispute', { id: 'du_none', outcome: 'won' }),
    await act('constructor', {}),
  ]).toEqual([400, 200, 400, 400, 400, 400, 400, 404]);
});
