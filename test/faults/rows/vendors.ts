import type { Fault } from '../../../src/sandbox/faults.ts';
import type { StandIn } from '../../../src/sandbox/stand-in.ts';
import type { Payment, Refund } from '../../../src/sandbox/stripe-objects.ts';
import { startLoad } from '../clients.ts';
import { startDeliveries } from '../deliveries.ts';
import { any, findings, type Row, SIZES } from '../row.ts';
import { later, openWorld, type World } from '../world.ts';

const FAULTS: readonly Fault[] = [
  { kind: 'delay', ms: 2_000 },
  { kind: 'hang', effect: 'before' },
  { kind: 'hang', effect: 'after' },
  { kind: 'reset', effect: 'before' },
  { kind: 'reset', effect: 'after' },
  { kind: 'status', status: 500, effect: 'before', sticky: false },
  { kind: 'status', status: 500, effect: 'after', sticky: false },
  { kind: 'page', status: 502, effect: 'before' },
  { kind: 'page', status: 502, effect: 'after' },
  { kind: 'rate_limit' },
];
const OF_STRIPE: readonly Fault[] = [...FAULTS, { kind: 'status', status: 409, effect: 'before', sticky: false }];
const FAULTY = 0.3;
const ORDERS_PER_SECOND = 60;
const BROWNOUT_ORDERS_PER_SECOND = 20;
const POLL_MS = 100;

type Vendor = Omit<Row, 'run' | 'needsRedis'> & {
  standIn(world: World): StandIn;
  readonly faults: readonly Fault[];
  prepare?(world: World): Promise<unknown>;
  /** Faults that the stand-in injects by itself. */
  more?(standIn: StandIn): number;
};

/**
 * Makes three in ten requests to a vendor fail, in every way, until the row's number of faults is reached.
 */
function illVendor({ standIn, faults, prepare, more, ...row }: Vendor): Row {
  return {
    ...row,
    async run(count, random) {
      const world = await openWorld(SIZES);
      try {
        await prepare?.(world);
        const vendor = standIn(world);
        let met = 0;
        const each = (): Fault | undefined => {
          if (random() >= FAULTY) return undefined;
          met++;
          return any(faults, random);
        };
        vendor.orderFaults({ each });
        const load = startLoad(world, ORDERS_PER_SECOND, random);
        const deliveries = startDeliveries(world, random);
        const all = (): number => met + (more?.(vendor) ?? 0);
        while (all() < count) await later(POLL_MS);
        // Ends the faults, so that none of the last jobs uses up its attempts, after which it would be tried
        // much later.
        vendor.orderFaults({ each: null });
        const problems = await load.stop();
        await deliveries.stop();
        problems.push(...(await findings(world)));
        return { count: all(), orders: load.sent(), findings: problems, recoveries: [] };
      } finally {
        await world.close();
      }
    },
  };
}

export const stripeFaults = illVendor({
  name: 'stripe',
  what: 'three of ten requests to Stripe are slow, hang, break or fail, before and after their effect, and cards are declined',
  count: 1_500,
  standIn: ({ stripe }) => stripe,
  faults: OF_STRIPE,
  prepare: ({ sql, stores }) => declineSome(sql, stores),
  more: (stripe) =>
    (stripe.entries() as readonly (Payment | Refund)[]).filter(
      (entry) => entry.type === 'payment' && entry.answer.kind === 'declined',
    ).length,
});

/** One store in ten has a card that is always declined, and one a card that is declined once an order. */
async function declineSome(sql: World['sql'], stores: World['stores']): Promise<void> {
  for (const [remainder, card] of [
    [0, 'pm_card_chargeDeclined'],
    [1, 'pm_card_processing_error_once'],
  ] as const) {
    const ids = stores.filter((_, i) => i % 10 === remainder).map(({ id }) => id);
    await sql`
      update retailers set stripe_payment_method_id = ${card} where id = any(${ids}::uuid[])`;
  }
}

export const twilioFaults = illVendor({
  name: 'twilio',
  what: 'three of ten requests to Twilio are slow, hang, break or fail, before and after their effect',
  count: 1_500,
  standIn: ({ twilio }) => twilio,
  faults: FAULTS,
});

/** Time after which texts whose first send failed have been sent again, and failed again. */
const BROWNOUT_MS = 150_000;
const BROWNOUT: Fault = { kind: 'status', status: 500, effect: 'before', sticky: false };

/**
 * A brownout that meets three in ten sends, then of those the second sends, and none of the texts is lost.
 */
export const twilioBrownout: Row = {
  name: 'twilio-brownout',
  what: 'three of ten requests to Twilio are answered with 500 for minutes, and no text is lost',
  count: 600,
  async run(count, random) {
    const world = await openWorld(SIZES);
    try {
      let met = 0;
      const each = (): Fault | undefined => {
        if (random() >= FAULTY) return undefined;
        met++;
        return BROWNOUT;
      };
      world.twilio.orderFaults({ each });
      const load = startLoad(world, BROWNOUT_ORDERS_PER_SECOND, random);
      const endMs = performance.now() + BROWNOUT_MS;
      while (met < count || performance.now() < endMs) await later(POLL_MS);
      world.twilio.orderFaults({ each: null });
      const problems = await load.stop();
      problems.push(...(await findings(world)));
      const [lost] = await world.sql`
        select count(*)::int as texts from orders where sms_failure_code = 'outcome_unknown'`;
      if (lost?.texts > 0) problems.push(`text: ${lost?.texts} texts were given up`);
      const [again] = await world.sql`select count(*)::int as texts from messages where sends > 2`;
      const notes = [`${again?.texts} texts were sent more than twice before one was taken`];
      return { count: met, orders: load.sent(), findings: problems, recoveries: [], notes };
    } finally {
      await world.close();
    }
  },
};
