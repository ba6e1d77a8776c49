import type { Fault } from '../../../src/sandbox/faults.ts';
import type { StandIn } from '../../../src/sandbox/stand-in.ts';
import type { Payment, Refund } from '../../../src/sandbox/stripe-objects.ts';
import { startLoad } from '../clients.ts';
import { startDeliveries } from '../deliveries.ts';
import { any, inWorld, type Row } from '../row.ts';
import { later, type World } from '../world.ts';

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

type Vendor = Omit<Row, 'run' | 'needs'> & {
  standIn(world: World): StandIn;
  readonly faults: readonly Fault[];
  readonly perSecond?: number;
  /** The shortest time for which they go on. */
  readonly leastMs?: number;
  prepare?(world: World): Promise<unknown>;
  /** Faults that the stand-in injects by itself. */
  more?(standIn: StandIn): number;
  /** Further findings, and notes, once nothing is running any more. */
  check?(world: World, notes: string[]): Promise<string[]>;
};

/**
 * Makes three in ten requests to a vendor fail, in every way, until the row's number of faults is reached.
 */
function illVendor({
  standIn,
  faults,
  perSecond = ORDERS_PER_SECOND,
  leastMs = 0,
  prepare,
  more,
  check,
  ...row
}: Vendor): Row {
  return {
    ...row,
    run: (count, random) =>
      inWorld({}, async (world) => {
        await prepare?.(world);
        const vendor = standIn(world);
        let met = 0;
        const each = (): Fault | undefined => {
          if (random() >= FAULTY) return undefined;
          met++;
          return any(faults, random);
        };
        vendor.orderFaults({ each });
        const load = startLoad(world, perSecond, random);
        const deliveries = startDeliveries(world, random);
        const all = (): number => met + (more?.(vendor) ?? 0);
        const endMs = performance.now() + leastMs;
        while (all() < count || performance.now() < endMs) await later(POLL_MS);
        // Ends the faults, so that none of the last jobs uses up its attempts, after which it would be tried
        // much later.
        vendor.orderFaults({ each: null });
        const problems = await load.stop();
        await deliveries.stop();
        const notes: string[] = [];
        const looked = async () => (await check?.(world, notes)) ?? [];
        return { count: all(), orders: load.sent(), findings: problems, check: looked, notes };
      }),
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

/**
 * A brownout that meets three in ten sends, then of those the second sends, and none of the texts is lost.
 */
export const twilioBrownout = illVendor({
  name: 'twilio-brownout',
  what: 'three of ten requests to Twilio are answered with 500 for minutes, and no text is lost',
  count: 600,
  standIn: ({ twilio }) => twilio,
  faults: [{ kind: 'status', status: 500, effect: 'before', sticky: false }],
  perSecond: BROWNOUT_ORDERS_PER_SECOND,
  leastMs: BROWNOUT_MS,
  async check({ sql }, notes) {
    const [again] = await sql`select count(*)::int as texts from messages where sends > 2`;
    notes.push(`${again?.texts} texts were sent more than twice before one was taken`);
    const [lost] = await sql`
      select count(*)::int as texts from orders where sms_failure_code = 'outcome_unknown'`;
    return lost?.texts > 0 ? [`text: ${lost?.texts} texts were given up`] : [];
  },
});
