import { MAX_COMMIT_WAIT_MS } from '../../../src/dispatch/group-commit.ts';
import { openApart } from '../cores.ts';
import { type Answers, type FastClient, openFastClient } from '../fast-client.ts';
import { findings, type Row, SIZES } from '../row.ts';
import { openWorld, type World } from '../world.ts';

/** Few enough that a machine which stores 200 orders a second refuses none. */
const CLIENTS = 384;
const WARM_UP_SECONDS = 1;
const SUSTAINED_SECONDS = 3;
/**
 * Counts commits of 256 orders, one or two a second, so in a few seconds one more or less would be a quarter.
 * With the earlier rounds the payments stay below what the stand-ins remember.
 */
const OFFERED_SECONDS = 12;
const TIMES = 3;
/** Share of what the service sustains. */
const GOODPUT = 0.8;
/** Share of the planned load; clients that send less prove nothing. */
const MOSTLY = 0.9;
/** Enough for a free driver for each order of a round. */
const DRIVERS = 40_000;
const REFUSALS = [429, 503];

/** Orders a second. */
type Capacity = {
  /** While clients send one order after the other, jobs left aside. */
  readonly takes: number;
  /** With every order charged and texted. */
  readonly sustains: number;
};

export const overload: Row = {
  name: 'overload',
  what: `${TIMES} times as many orders as the service takes at its most are offered for ${OFFERED_SECONDS} s`,
  count: 4,
  async run(count, random) {
    const found: string[] = [];
    const notes: string[] = [];
    let orders = 0;
    for (let round = 0; round < count; round++) {
      const {
        opened: world,
        areApart,
        undo,
      } = await openApart(() => openWorld({ ...SIZES, drivers: DRIVERS, apis: 1 }));
      const client = openFastClient(world, random);
      try {
        const capacity = await measure(world, client);
        const answers = await client.offer(TIMES * capacity.takes, OFFERED_SECONDS, areApart);
        orders += client.sent();
        notes.push(
          `${told(capacity, answers)} ${areApart ? 'Clients had a core of their own.' : 'All cores were shared.'}`,
        );
        undo();
        found.push(...judged(capacity, answers), ...(await findings(world)));
      } finally {
        undo();
        client.close();
        await world.close();
      }
    }
    return { count, orders, findings: found, recoveries: [], notes };
  },
};

async function measure(world: World, client: FastClient): Promise<Capacity> {
  await client.saturate(CLIENTS, WARM_UP_SECONDS);
  if (!(await world.untilDone())) throw new Error('the jobs of the warm-up were not done in time');
  const startedMs = performance.now();
  const takes = await client.saturate(CLIENTS, SUSTAINED_SECONDS);
  if (!(await world.untilDone())) throw new Error('the jobs of what the service took were not done in time');
  return { takes, sustains: (takes * SUSTAINED_SECONDS * 1_000) / (performance.now() - startedMs) };
}

/**
 * Offers three times what the service accepts while its jobs pile up, and so more than three times what it
 * sustains. Most of what it sustains must get through. 99 of 100 refusals must come before an order may be
 * dropped for waiting too long. Their speed is reported, as it depends on the machine's cores, which worker,
 * Postgres and Redis share.
 */
function judged({ takes, sustains }: Capacity, { millisBy, perSecond, offered }: Answers): string[] {
  const refusals = REFUSALS.flatMap((status) => millisBy.get(status) ?? []);
  const odd = [...millisBy.keys()].filter((status) => status !== 201 && !REFUSALS.includes(status));
  return [
    ...odd.map(
      (status) => `overload: ${millisBy.get(status)?.length} orders were answered with ${status || 'nothing'}`,
    ),
    ...(offered < MOSTLY * TIMES * takes
      ? [`overload: the clients sent no more than ${offered.toFixed(0)} orders/s, so nothing is known`]
      : []),
    ...(perSecond < GOODPUT * sustains
      ? [`overload: ${perSecond.toFixed(0)} orders/s got through of the ${sustains.toFixed(0)} that are sustained`]
      : []),
    ...(refusals.length > 0 && percentile(refusals, 0.99) > MAX_COMMIT_WAIT_MS
      ? [`overload: refusals took ${percentile(refusals, 0.99).toFixed(0)} ms at p99`]
      : []),
  ];
}

function told({ takes, sustains }: Capacity, { millisBy, perSecond, offered }: Answers): string {
  const byStatus = [...millisBy].map(([status, millis]) => {
    const [p50, p99] = [percentile(millis, 0.5).toFixed(0), percentile(millis, 0.99).toFixed(0)];
    return `${millis.length} × ${status} in ${p50} (p99 ${p99}) ms`;
  });
  const rates = [sustains, takes, offered, perSecond].map((rate) => rate.toFixed(0));
  return `overload: sustains ${rates[0]}/s, takes ${rates[1]}/s; of ${rates[2]}/s it took ${rates[3]}/s: ${byStatus.join(', ')}.`;
}

function percentile(millis: readonly number[], part: number): number {
  return millis.toSorted((a, b) => a - b)[Math.floor((millis.length - 1) * part)] as number;
}
