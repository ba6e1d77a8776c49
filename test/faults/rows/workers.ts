import { connect } from '../../../src/postgres/connect.ts';
import type { Fault } from '../../../src/sandbox/faults.ts';
import type { Payment } from '../../../src/sandbox/stripe-objects.ts';
import type { Random } from '../../harness/world.ts';
import { anyOrder, note, send } from '../clients.ts';
import { any, inWorld, type Row } from '../row.ts';
import { lookUntil, type Process, type World } from '../world.ts';
import { untilKept } from './kept.ts';

/** Charges in flight when the worker dies, and attempts to catch one before the row gives up. */
const ORDERS_AT_ONCE = 3;
const MOST_ROUNDS = 3;
const WAIT_MS = 8_000;
const POLL_MS = 10;
/** Long enough for the row's work between the arrival of a charge at Stripe and its answer. */
const ANSWER_MS = 400;

/** Kills the worker at this moment; true where a charge was caught there. */
type Moment = (round: {
  readonly world: World;
  readonly worker: Process;
  readonly random: Random;
  order(): Promise<readonly string[]>;
}) => Promise<boolean>;

/** `count` workers die, each with charges at the same stage; later workers complete what they left. */
function workerDeath(name: string, what: string, moment: Moment): Row {
  return {
    name: `worker-death-${name}`,
    what: `kill -9 of the worker ${what}`,
    count: 50,
    needs: ['redis'],
    run: (count, random) =>
      inWorld({ apis: 1, workers: 1 }, async (world) => {
        let orders = 0;
        const order = async (): Promise<string[]> => {
          const some = Array.from({ length: ORDERS_AT_ONCE }, () => anyOrder(world, random, true));
          note(world, ...some);
          orders += some.length;
          const heard = await Promise.all(some.map((each) => send(world, each, random)));
          return heard.flatMap(({ orderId }) => orderId ?? []);
        };
        const worker = world.workers[0] as Process;
        await untilKept(world);
        let caught = 0;
        for (let round = 0; caught < count && round < count * MOST_ROUNDS; round++) {
          if (await moment({ world, worker, random, order })) caught++;
          await worker.kill();
          world.stripe.orderFaults({ each: null });
          await worker.start();
        }
        return { count: caught, orders, findings: [] };
      }),
  };
}

export const workerDeaths: readonly Row[] = [
  workerDeath('before-send', 'before it sends a charge', async ({ world, worker, order }) => {
    const payments = await lockPayments(world);
    try {
      await order();
      const isCaught = await until(() => payments.isWaitedFor());
      await worker.kill();
      return isCaught;
    } finally {
      await payments.unlock();
    }
  }),
  workerDeath('sent', 'after it sent a charge, taken or not', async ({ world, worker, random, order }) => {
    const charges = arrivals(world, () => ({ kind: 'hang', effect: any(['before', 'after'], random) }));
    await order();
    const isCaught = await until(() => charges() > 0);
    await worker.kill();
    return isCaught;
  }),
  workerDeath('answered', 'after Stripe answered, before the database knows', async ({ world, worker, order }) => {
    const charges = arrivals(world, () => ({ kind: 'delay', ms: ANSWER_MS }));
    const orderIds = await order();
    if (!(await until(() => charges() > 0))) return false;
    const payments = await lockPayments(world);
    try {
      await until(async () => paidAtStripe(world, orderIds).length > 0 && (await payments.isWaitedFor()));
      await worker.kill();
    } finally {
      await payments.unlock();
    }
    return (await statuses(world, paidAtStripe(world, orderIds))).includes('sending');
  }),
  workerDeath('written', 'after the database knows, before the queue does', async ({ world, worker, order }) => {
    const charges = arrivals(world, () => ({ kind: 'delay', ms: ANSWER_MS }));
    const orderIds = await order();
    if (!(await until(() => charges() > 0))) return false;
    const redis = world.redis?.server?.pid() ?? 0;
    process.kill(redis, 'SIGSTOP');
    try {
      const isCaught = await until(async () => (await statuses(world, orderIds)).includes('paid'));
      await worker.kill();
      return isCaught;
    } finally {
      process.kill(redis, 'SIGCONT');
    }
  }),
];

/** Adds a fault to each charge that arrives at Stripe; counts them. */
function arrivals({ stripe }: World, fault: () => Fault): () => number {
  let arrived = 0;
  stripe.orderFaults({
    each({ method, path }) {
      if (method !== 'POST' || path !== '/v1/payment_intents') return undefined;
      arrived++;
      return fault();
    },
  });
  return () => arrived;
}

/** Blocks all of the service's writes about charges in the database. */
async function lockPayments({ sql, postgres }: World) {
  const holder = connect({
    url: postgres.url,
    applicationName: 'faults',
    max: 1,
    statementTimeoutMs: 0,
    deadlineMs: 0,
  });
  await holder.unsafe('begin; lock table payments in exclusive mode').simple();
  const waiting = sql`
    pid in (select pid from pg_locks where relation = 'payments'::regclass and not granted)`;
  return {
    async isWaitedFor(): Promise<boolean> {
      const [row] = await sql`select exists (select from pg_stat_activity where ${waiting}) as is`;
      return row?.is;
    },
    /** The dead worker's connections end before the lock does, so that its statements never run. */
    async unlock(): Promise<void> {
      await sql`select pg_terminate_backend(pid) from pg_stat_activity where ${waiting}`;
      await until(async () => {
        const [row] = await sql`select exists (select from pg_stat_activity where ${waiting}) as is`;
        return !row?.is;
      });
      await holder.end({ timeout: 5 });
    },
  };
}

const paidAtStripe = ({ stripe }: World, orderIds: readonly string[]): string[] => {
  const wanted = new Set(orderIds);
  return (stripe.entries() as readonly Payment[]).flatMap(({ metadata }) => {
    const id = metadata?.order_id;
    return id !== undefined && wanted.has(id) ? [id] : [];
  });
};

async function statuses({ sql }: World, orderIds: readonly string[]): Promise<string[]> {
  const rows = await sql`
    select status from payments where order_id = any(${[...orderIds]}::uuid[])`;
  return rows.map(({ status }) => status);
}

/** Whether it became true in time. */
const until = (isTrue: () => boolean | Promise<boolean>): Promise<boolean> =>
  lookUntil(isTrue, Boolean, WAIT_MS, POLL_MS);
