import { identityOf } from '../../../src/domain/idempotency.ts';
import type { CancelReason, PlaceOrder } from '../../../src/domain/order.ts';
import type { Tiers } from '../../../src/domain/tier.ts';
import { Matcher } from '../../../src/matcher/matcher.ts';
import { createChargeJob } from '../../../src/payments/charge.ts';
import { createRefundJob } from '../../../src/payments/refund.ts';
import { limitConcurrency } from '../../../src/postgres/batched-reads.ts';
import { connect } from '../../../src/postgres/connect.ts';
import { AbortNotice } from '../../../src/transport/signal.ts';
import { startDispatch } from '../../harness/dispatch-here.ts';
import { storeOf } from '../../harness/store.ts';
import { OVERSEAS_DROPOFF } from '../../harness/towns.ts';
import { openBank } from './bank.ts';
import type { BankAnswer } from './commands.ts';
import type { Model } from './model.ts';
import type { Answer } from './nouns.ts';
import type { System } from './system.ts';
import { compareTables } from './tables.ts';

const PROCESS_ID = 'model';
const OTHER = 'other';
const PHOTO = { name: `${'0'.repeat(32)}.jpg`, isBlank: false };
const DRAIN_ROUNDS = 6;

/** One API process's dispatch, jobs and notices on a real database: everything but HTTP and the queues. */
export async function openProcess(url: string, tiers: Tiers): Promise<System & { close(): Promise<void> }> {
  const sql = connect({ url, applicationName: PROCESS_ID, max: 12 });
  const matcher = new Matcher(tiers, false);
  // Each moment is later than the last one, as a driver's positions must be.
  let lastMs = 0;
  const now = () => {
    lastMs = Math.max(lastMs + 0.001, Date.now());
    return lastMs;
  };
  const store = storeOf(sql, PROCESS_ID);
  const tierSource = { loadTiers: async () => tiers };
  const own = { store, matcher, sql, processId: PROCESS_ID, clock: { now }, tierSource };
  const { dispatch, parts } = await startDispatch(own);

  const bank = openBank();
  const chargeJob = createChargeJob({ ...parts, stripe: bank, orderLocks: limitConcurrency(4) });
  const refundJob = createRefundJob({ ...parts, stripe: bank });

  async function run(queue: 'charge' | 'refund', orderId: string, answer: BankAnswer): Promise<Answer> {
    const [row] = await sql`select id, retailer_id from outbox where order_id = ${orderId} and queue = ${queue}`;
    if (!row) return { kind: 'no_job' };
    bank.answers.set(orderId, answer);
    const data = { orderId, outboxId: row.id, retailerId: row.retailer_id };
    return { kind: (await (queue === 'charge' ? chargeJob : refundJob)(data)).kind };
  }

  return {
    isExact: true,
    convergeMs: 3_000,
    converged: () => undefined,
    async create(retailer, { tierId, key, body }) {
      const request: PlaceOrder = {
        retailerId: retailer.retailerId,
        customer: { name: `Says ${body}`, email: 'jordan@example.com', phone: '+14155550100', smsOptIn: false },
        pickupAddress: retailer.address,
        dropoffAddress: { ...OVERSEAS_DROPOFF, line2: null },
        tierId,
        extras: null,
      };
      const identity = identityOf(request, key);
      const signal = new AbortNotice();
      const caller = { sinceMs: performance.now(), signal };
      const outcome = await dispatch.placeRequest(request, retailer, identity, caller);
      signal.answered();
      if ('order' in outcome) {
        const { id, status, paymentStatus } = outcome.order;
        return { kind: outcome.kind, orderId: id, status, payment: paymentStatus };
      }
      return outcome;
    },
    cancel: ({ retailerId }, orderId, reason, key) =>
      dispatch.cancelOrder(orderId, retailerId, reason as CancelReason, key),
    cancelByOperator: async (orderId) => (await storeOf(sql, OTHER).cancelOrder(orderId, 'operator', 'other')) !== null,
    async returnByOperator(orderId) {
      await storeOf(sql, OTHER).giveUpForDriver(orderId);
      return (await storeOf(sql, OTHER).returnForDriver(orderId)) !== null;
    },
    nudge: (orderId) => storeOf(sql, OTHER).nudgeOrder(orderId),
    setDuty: async ({ id }, onDuty) => ({
      kind: (await dispatch.actions.setDuty(id, onDuty)) ? 'done' : 'unauthorized',
    }),
    move: async ({ id }, to) => dispatch.positions.report(id, to),
    step(step, { id: driverId }, orderId, actionId) {
      const action = { driverId, orderId, stamp: { actionId, capturedAt: null } };
      const { actions } = dispatch;
      switch (step) {
        case 'pick-up':
          return actions.pickUp(action);
        case 'deliver':
          return actions.deliver(action, PHOTO);
        case 'release':
          return actions.release(action, 'vehicle');
        case 'undeliverable':
          return actions.undeliverable(action, 'refused');
        case 'return':
          return actions.returned(action);
      }
    },
    async expire(orderId, isDue) {
      if (isDue) {
        await sql`
          update orders set expires_at = now() - interval '1 second'
          where id = ${orderId} and status = 'pending_dispatch'`;
      }
      await dispatch.redispatch.expire(orderId);
    },
    suspend: ({ retailerId }, active) => store.setRetailerStatus(retailerId, active ? 'active' : 'suspended'),
    deactivate: ({ id }) => storeOf(sql, OTHER).deactivateDriver(id),
    sweep: () => dispatch.sweep.run(),
    charge: (orderId, answer) => run('charge', orderId, answer),
    refund: (orderId, answer) => run('refund', orderId, answer),
    memoryDiffers: (model) => memoryDiffers(matcher, model),
    async conclude(model) {
      for (const { id } of model.orders.values()) {
        for (let round = 0; round < DRAIN_ROUNDS; round++) {
          for (const queue of ['charge', 'refund'] as const) {
            const answer = (await run(queue, id, 'done')).kind;
            const wanted = model[queue](id, 'done').kind;
            if (answer !== wanted) return `the ${queue} of order ${id} was ${answer} and not ${wanted}`;
          }
        }
      }
      return ledgerDiffers(bank, model) ?? compareTables(sql, model, true);
    },
    async close() {
      await parts.closers.closeAll();
      await sql.end({ timeout: 5 });
    },
  };
}

function memoryDiffers(matcher: Matcher, model: Model): string | null {
  for (const driver of model.drivers) {
    const known = matcher.driver(driver.id);
    const isDriver = driver.isActive || model.carried(driver.id).length > 0;
    if ((known !== undefined) !== isDriver) return `driver ${driver.id} is ${known ? '' : 'not '}in memory`;
    if (!known) continue;
    const carried = String(
      model
        .carried(driver.id)
        .map(({ id }) => id)
        .sort(),
    );
    const held = String(
      matcher
        .carriedBy(driver.id)
        .map(({ orderId }) => orderId)
        .sort(),
    );
    if (held !== carried) return `driver ${driver.id} holds ${held} in memory and carries ${carried}`;
    if (known.onDuty !== driver.onDuty) return `driver ${driver.id} is on duty in memory alone, or not there`;
  }
  for (const store of model.stores) {
    const held = matcher.holdOf(store.id);
    const should = model.holdOf(store);
    if (held !== should) return `store ${store.id} is held for ${held} in memory and not for ${should}`;
  }
  for (const { id, status } of model.orders.values()) {
    if ((matcher.isWaiting(id) || matcher.isLater(id)) !== (status === 'pending_dispatch'))
      return `${status} order ${id} is otherwise in memory`;
  }
  return null;
}

/** Compares the bank's book: an order that ended undelivered holds nothing, any other what the model says. */
function ledgerDiffers(bank: ReturnType<typeof openBank>, model: Model): string | null {
  for (const { id, status, money } of model.orders.values()) {
    const held = bank.heldOf(id);
    if (held !== Number(money.isHeld())) return `the bank holds ${held} charges of order ${id}`;
    const isOver = status === 'cancelled' || status === 'expired';
    if (isOver && held > 0) return `${status} order ${id} holds a charge`;
  }
  return null;
}
