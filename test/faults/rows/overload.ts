import { MAX_COMMIT_WAIT_MS } from '../../../src/limits.ts';
import { openApart } from '../cores.ts';
import { type Answers, openFastClient } from '../fast-client.ts';
import { findings, type Row, SIZES } from '../row.ts';
import { openWorld } from '../world.ts';

const CLIENTS = 1_024;
const WARM_UP_SECONDS = 1;
const MEASURED_SECONDS = 3;
/** The stand-ins remember 20,000 payments; a round makes fewer. */
const OFFERED_SECONDS = 5;
const TIMES = 3;
/** Of what the service takes when it is not overloaded. */
const GOODPUT = 0.8;
/** Of the load that is to be offered; clients that send less show nothing. */
const MOSTLY = 0.9;
/** Enough that a driver is free for each order while a round lasts. */
const DRIVERS = 40_000;
const REFUSALS = [429, 503];

export const overload: Row = {
  name: 'overload',
  what: `${TIMES} times as many orders as the service takes are offered for ${OFFERED_SECONDS} s`,
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
      // Their backlog would be worked off, and take the machine, just while the load is at its most.
      await Promise.all(world.workers.map((worker) => worker.kill()));
      const client = openFastClient(world, random);
      try {
        await client.saturate(CLIENTS, WARM_UP_SECONDS);
        const capacity = await client.saturate(CLIENTS, MEASURED_SECONDS);
        const answers = await client.offer(TIMES * capacity, OFFERED_SECONDS);
        orders += client.sent();
        notes.push(
          `${told(capacity, answers)} ${areApart ? 'Clients had a core of their own.' : 'All cores were shared.'}`,
        );
        undo();
        await Promise.all(world.workers.map((worker) => worker.start()));
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

/**
 * 99 of 100 refusals must come before an order may be dropped for having waited too long. How fast they are is told: on cores
 * that clients, worker, Postgres and Redis are at as well, that is a figure of the machine.
 */
function judged(capacity: number, { millisBy, perSecond, offered }: Answers): string[] {
  const refusals = REFUSALS.flatMap((status) => millisBy.get(status) ?? []);
  const odd = [...millisBy.keys()].filter((status) => status !== 201 && !REFUSALS.includes(status));
  return [
    ...odd.map(
      (status) => `overload: ${millisBy.get(status)?.length} orders were answered with ${status || 'nothing'}`,
    ),
    ...(offered < MOSTLY * TIMES * capacity
      ? [`overload: the clients sent no more than ${offered.toFixed(0)} orders/s, so nothing is known`]
      : []),
    ...(perSecond < GOODPUT * capacity
      ? [`overload: ${perSecond.toFixed(0)} orders/s got through of the ${capacity.toFixed(0)} without overload`]
      : []),
    ...(refusals.length > 0 && percentile(refusals, 0.99) > MAX_COMMIT_WAIT_MS
      ? [`overload: refusals took ${percentile(refusals, 0.99).toFixed(0)} ms at p99`]
      : []),
  ];
}

function told(capacity: number, { millisBy, perSecond, offered }: Answers): string {
  const byStatus = [...millisBy].map(([status, millis]) => {
    const [p50, p99] = [percentile(millis, 0.5).toFixed(0), percentile(millis, 0.99).toFixed(0)];
    return `${millis.length} × ${status} in ${p50} (p99 ${p99}) ms`;
  });
  const rates = [capacity, offered, perSecond].map((rate) => rate.toFixed(0));
  return `overload: takes ${rates[0]}/s; of ${rates[1]}/s it took ${rates[2]}/s: ${byStatus.join(', ')}.`;
}

function percentile(millis: readonly number[], part: number): number {
  return millis.toSorted((a, b) => a - b)[Math.floor((millis.length - 1) * part)] as number;
}
