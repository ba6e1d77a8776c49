import { createStripeAccount } from '../../../src/payments/stripe-account.ts';
import type { Refund, Session } from '../../../src/sandbox/stripe-objects.ts';
import type { Random } from '../../harness/world.ts';
import { type CardState, type DisputeState, wrongCards, wrongDisputes } from '../callbacks.ts';
import { startLoad } from '../clients.ts';
import { startDeliveries } from '../deliveries.ts';
import { any, inWorld, type Row } from '../row.ts';
import { later, lookUntil, type Process, type World } from '../world.ts';
import { openTwilio } from './twilio-callbacks.ts';

const ORDERS_PER_SECOND = 20;
const ACTS_PER_KILL = 12;
const KILL_WITHIN_MS = 4;
/** Longest delay of a delivery, so that events overtake each other. */
const DELAY_MS = 800;
const AT_WORK_MS = 5_000;
const DRAIN_MS = 180_000;
const POLL_MS = 1;
/** Stripe's times have whole seconds, so a store gives one card in each of them. */
const CARD_PAUSE_MS = 2_500;
const CARD_STORES = 4;
/** A worker that is behind sends charges after the load has ended. */
const FINISH_MS = 20;
const SECRET = 'whsec_0123456789abcdef0123456789abcdef';

/** A vendor that tells the service by callbacks. Half of them are delivered twice, and they overtake others. */
type CallingVendor = {
  /** Does something of chance that it tells of. */
  act(): Promise<void>;
  /** From now on ends at once what is half done, such as payments that are being processed. */
  finish(): void;
  /** Deliveries without an answer yet, those of them that are being made, and tries that had none. */
  deliveries(): { readonly pending: number; readonly atWork: number; readonly unanswered: number };
  /** Findings, once every delivery was answered and nothing runs any more. */
  broken(): Promise<string[]>;
};

/** The vendors of the row; another one is another function here, with its settings. */
const VENDORS: readonly ((world: World, random: Random) => Promise<CallingVendor>)[] = [openStripe, openTwilio];
const SETTINGS = { STRIPE_WEBHOOK_SECRET: SECRET };

export const vendorCallbacks: Row = {
  name: 'vendor-callbacks',
  what: 'kill -9 of an API process between a vendor’s callback and its answer; callbacks come twice and out of order',
  count: 60,
  run: (count, random) =>
    inWorld({ env: SETTINGS }, async (world) => {
      const vendors = await Promise.all(VENDORS.map((open) => open(world, random)));
      const load = startLoad(world, ORDERS_PER_SECOND, random);
      const deliveries = startDeliveries(world, random);
      const recoveries: number[] = [];
      let caught = 0;
      for (let kills = 0; kills < count; kills++) {
        for (let acts = 0; acts < ACTS_PER_KILL; acts++) await any(vendors, random).act();
        if (await untilAtWork(vendors)) caught++;
        await later(random() * KILL_WITHIN_MS);
        const api = any(world.apis, random) as Process;
        await api.kill();
        const killedMs = performance.now();
        await api.start();
        await world.untilReady();
        recoveries.push(performance.now() - killedMs);
      }
      const problems = await load.stop();
      await deliveries.stop();
      for (const vendor of vendors) vendor.finish();
      problems.push(...(await untilAnswered(vendors)));
      // The last jobs, which are awaited meanwhile, had callbacks of their own.
      const check = async () => [
        ...(await untilAnswered(vendors)),
        ...(await Promise.all(vendors.map((vendor) => vendor.broken()))).flat(),
      ];
      const unanswered = vendors.reduce((sum, vendor) => sum + vendor.deliveries().unanswered, 0);
      const notes = [`${caught} kills met a callback at work; ${unanswered} tries of callbacks had no answer`];
      return { count, orders: load.sent(), findings: problems, recoveries, check, notes };
    }),
};

/** Whether a callback was at work in time. */
const untilAtWork = (vendors: readonly CallingVendor[]): Promise<boolean> =>
  lookUntil(() => vendors.some((vendor) => vendor.deliveries().atWork > 0), Boolean, AT_WORK_MS, POLL_MS);

async function untilAnswered(vendors: readonly CallingVendor[]): Promise<string[]> {
  const look = () => vendors.every((vendor) => vendor.deliveries().pending === 0);
  const areAnswered = await lookUntil(look, Boolean, DRAIN_MS, POLL_MS * 100);
  return areAnswered ? [] : ['callback: some are still not answered'];
}

/** Refunds, disputes, late results and cards at Stripe, of orders that may have been charged a moment ago. */
async function openStripe(world: World, random: Random): Promise<CallingVendor> {
  const { stripe, sql, stores } = world;
  const { dashboard } = stripe;
  const account = createStripeAccount({ secretKey: 'sk_test_faults', apiBase: stripe.url, timeoutMs: 10_000 });
  stripe.sendEventsTo({
    url: () => `${any(world.apis, random).url()}/stripe/webhook`,
    secret: SECRET,
    all: true,
    // One that comes once shows what is lost with its answer.
    copies: () => (random() < 0.5 ? 1 : 2),
    delayMs: () => random() * DELAY_MS,
  });
  const slow = stores.filter((_, i) => i % 10 === 0).map(({ id }) => id);
  await sql`update retailers set stripe_payment_method_id = 'pm_card_processing' where id = any(${slow}::uuid[])`;
  const givers = stores.filter((_, i) => i % 10 === 1).slice(0, CARD_STORES);
  const givenAtMs = new Map<string, number>();
  const given = new Map<string, string | null>();
  const touched = new Set<string>();
  let finishing: NodeJS.Timeout | undefined;
  const disputes = new Map<string, { readonly id: string; ended: DisputeState['ended'] }>();

  const paymentsOf = (kind: 'paid' | 'processing') =>
    stripe.payments().filter(({ id, answer }) => answer.kind === kind && !touched.has(id));

  /** One of the last payments, whose own result may not be recorded yet. What the service gave back is left alone. */
  function recent() {
    const refunded = new Set(stripe.entries().map((entry) => (entry as Partial<Refund>).paymentIntent));
    const kept = paymentsOf('paid').filter(({ id }) => !refunded.has(id));
    const payment = any(kept.slice(-40), random);
    if (payment) touched.add(payment.id);
    return payment;
  }

  /** A refund fails only for an order that cannot be cancelled any more: its fee stays. */
  async function failRefund(): Promise<void> {
    const [row] = await sql`
      select charge_id from orders where status = 'delivered' and payment_status = 'paid'
        and charge_id <> all(${[...touched]}::text[]) order by id desc limit 1`;
    if (!row) return;
    touched.add(row.charge_id);
    dashboard.failRefund(dashboard.refund(row.charge_id).id);
  }

  function dispute(): void {
    const payment = recent();
    if (!payment) return;
    const { id } = dashboard.dispute(payment.id);
    disputes.set(payment.metadata.order_id ?? '', { id, ended: 'open' });
    if (random() < 0.6) closeDispute();
  }

  function closeDispute(): void {
    const open = [...disputes.values()].find(({ ended }) => ended === 'open');
    if (!open) return;
    open.ended = random() < 0.5 ? 'won' : 'lost';
    dashboard.closeDispute(open.id, open.ended);
  }

  async function giveCard(): Promise<void> {
    const store = givers.find(({ id }) => performance.now() - (givenAtMs.get(id) ?? 0) > CARD_PAUSE_MS);
    if (!store) return;
    givenAtMs.set(store.id, performance.now());
    const before = given.get(store.id);
    if (before && random() < 0.3) {
      dashboard.detach(before);
      given.set(store.id, null);
      return;
    }
    const urls = { doneUrl: 'http://sameday.test/card/done', cancelledUrl: 'http://sameday.test/card/cancelled' };
    const link = await account.createCardLink({ customerId: 'cus_faults', retailerId: store.id, ...urls });
    if (link.kind !== 'link') throw new Error('no link');
    const body = new URLSearchParams({ card: 'ok' });
    await fetch(link.url, { method: 'POST', body, redirect: 'manual' });
    const session = stripe.entries().findLast((entry) => (entry as Session).metadata?.retailer_id === store.id);
    given.set(store.id, (session as Session).paymentMethod ?? null);
  }

  function settle(paidShare: number): void {
    const payment = any(paymentsOf('processing'), random);
    if (payment) dashboard.settle(payment.id, random() < paidShare ? 'paid' : 'declined');
  }

  function refund(share: number): void {
    const payment = recent();
    if (!payment) return;
    const part = Math.floor(payment.amount * share);
    dashboard.refund(payment.id, share === 1 ? undefined : part);
    // The second part makes the whole.
    if (share !== 1 && random() < 0.5) dashboard.refund(payment.id);
  }

  async function broken(): Promise<string[]> {
    const kept = await sql`
      select id, stripe_payment_method_id as card from retailers where id = any(${[...given.keys()]}::uuid[])`;
    const cards = kept.map(({ id, card }): CardState => ({ retailerId: id, given: given.get(id) ?? null, kept: card }));
    const noted = await sql`select dispute_id, status from disputes`;
    const statusOf = new Map(noted.map(({ dispute_id, status }) => [dispute_id, status as string]));
    const states = [...disputes].map(([orderId, { id, ended }]): DisputeState => {
      return { orderId, ended, noted: statusOf.get(id) ?? null };
    });
    const { payouts } = await world.records();
    clearInterval(finishing);
    account.close();
    return [...wrongCards(cards), ...wrongDisputes(states, payouts)];
  }

  return {
    async act() {
      const lot = random();
      if (lot < 0.2) refund(1);
      else if (lot < 0.4) refund(0.4);
      else if (lot < 0.5) await failRefund();
      else if (lot < 0.7) dispute();
      else if (lot < 0.8) closeDispute();
      else if (lot < 0.9) settle(0.8);
      else await giveCard();
    },
    finish() {
      finishing = setInterval(() => settle(1), FINISH_MS).unref();
    },
    deliveries: () => stripe.events(),
    broken,
  };
}
