import { TIER_IDS } from '../../../src/domain/tier.ts';
import { runBuiltCli } from '../../harness/service.ts';
import { driverToken } from '../../harness/stack-world.ts';
import type { Random } from '../../harness/world.ts';
import { anyOrder, startLoad } from '../clients.ts';
import { startDeliveries } from '../deliveries.ts';
import { askUntilTaken } from '../phones.ts';
import { plannedOrder, spreadDrivers, underPlanned, untilAllGiven } from '../planned.ts';
import { any, inWorld, type Row } from '../row.ts';
import { later, type World } from '../world.ts';

/** Few enough that orders wait for drivers as well. */
const FEW = { drivers: 30, stores: 3 };
const ORDERS_PER_SECOND = 10;
const SPOILERS = 4;
const PAUSE_MS = 100;
const OFF_DUTY_MS = 1_500;
/** An assignment that was under way when its driver went off duty may still be written. */
const UNDER_WAY_MS = 500;

type OffDuty = { readonly driverId: string; readonly fromMs: number; readonly toMs: number };
type Spoiling = {
  readonly world: World;
  readonly random: Random;
  readonly offDuty: OffDuty[];
  /** Drivers who are off duty by somebody now. */
  readonly away: Set<string>;
  readonly problems: string[];
};

export const plannerRaces: Row = {
  name: 'planner-races',
  what: 'a planned order is cancelled, its driver goes off duty or gives the last one back, while passes run',
  count: 600,
  needs: ['redis'],
  run: (count, random) =>
    inWorld(FEW, async (world) => {
      await spreadDrivers(world);
      const spoiling: Spoiling = { world, random, offDuty: [], away: new Set(), problems: [] };
      const told = await underPlanned(world, ORDERS_PER_SECOND, random, async () => {
        let left = count;
        const spoil = async (): Promise<void> => {
          while (left > 0) if (await any([offDuty, cancel, release], random)(spoiling)) left--;
        };
        await Promise.all(Array.from({ length: SPOILERS }, spoil));
        return spoiling.problems;
      });
      const given = await givenOffDuty(world, spoiling.offDuty);
      return { count, orders: told.orders, findings: [...told.findings, ...given] };
    }),
};

/** The driver who is meant for the next order goes off duty for a while; false where none is planned. */
async function offDuty({ world, random, offDuty: all, away, problems }: Spoiling): Promise<boolean> {
  const [row] = await world.sql`
    select driver_id from plans order by pickup_at limit 1 offset ${Math.floor(random() * 3)}`;
  if (!row || away.has(row.driver_id)) return nothing();
  const driverId: string = row.driver_id;
  away.add(driverId);
  const set = async (onDuty: boolean): Promise<void> => {
    const url = `${any(world.apis, random).url()}/driver/duty`;
    const sent = { method: 'PUT', key: driverToken(driverId), body: { on_duty: onDuty } };
    const { status } = await askUntilTaken(url, sent);
    if (status !== 200) problems.push(`duty: of driver ${driverId} was answered with ${status}`);
  };
  await set(false);
  const fromMs = Date.now();
  await later(OFF_DUTY_MS);
  all.push({ driverId, fromMs, toMs: Date.now() });
  await set(true);
  away.delete(driverId);
  return true;
}

/** The store cancels a planned order about when its driver is told. */
async function cancel({ world, random, problems }: Spoiling): Promise<boolean> {
  const [row] = await world.sql`
    select o.id, o.retailer_id from plans p join orders o on o.id = p.order_id
    order by p.pickup_at limit 1 offset ${Math.floor(random() * 3)}`;
  const store = world.stores.find(({ id }) => id === row?.retailer_id);
  if (!row || !store) return nothing();
  await later(random() * PAUSE_MS);
  const url = `${any(world.apis, random).url()}/orders/${row.id}/cancel`;
  const { status } = await askUntilTaken(url, { method: 'POST', key: store.apiKey, body: { reason: 'other' } });
  if (status !== 200 && status !== 409) problems.push(`cancel: of order ${row.id} was answered with ${status}`);
  return true;
}

/** A driver gives back the order that they were given last. */
async function release({ world, random, problems }: Spoiling): Promise<boolean> {
  const [row] = await world.sql`
    select id, driver_id from orders where status = 'driver_assigned' order by assigned_at desc limit 1`;
  if (!row) return nothing();
  const url = `${any(world.apis, random).url()}/driver/orders/${row.id}/release`;
  const key = driverToken(row.driver_id);
  const { status } = await askUntilTaken(url, { method: 'POST', key, body: { reason: 'other' } });
  if (![200, 404, 409].includes(status)) problems.push(`release: of order ${row.id} was answered with ${status}`);
  return true;
}

async function nothing(): Promise<boolean> {
  await later(PAUSE_MS);
  return false;
}

/** Orders that drivers were given after they were told that they are off duty. */
async function givenOffDuty(world: World, all: readonly OffDuty[]): Promise<string[]> {
  const { events } = await world.records();
  const given = events.filter(({ type }) => type === 'driver_assigned');
  return all.flatMap(({ driverId, fromMs, toMs }) =>
    given
      .filter((each) => each.driverId === driverId && each.atMs > fromMs + UNDER_WAY_MS && each.atMs < toMs)
      .map(({ orderId }) => `driver: ${driverId} is off duty and was given order ${orderId}`),
  );
}

const AWAY_MS = 60_000;
const LEAST_AWAY_MS = 10_000;
/** Orders that wait when Postgres goes, due until some seconds after it is back. */
const WAITING = 40;
const LATEST_MS = 5_000;

export const plannerOutage: Row = {
  name: 'planner-outage',
  what: 'Postgres is away for a minute, silent or refusing, while planned orders wait that are due meanwhile',
  count: 4,
  needs: ['redis'],
  run: (count, random, scale) =>
    inWorld({ drivers: 90, stores: 3 }, async (world) => {
      const awayMs = Math.max(LEAST_AWAY_MS, AWAY_MS * Math.min(1, scale));
      await spreadDrivers(world);
      const deliveries = startDeliveries(world, random);
      const found: string[] = [];
      const recoveries: number[] = [];
      let orders = 0;
      for (let i = 0; i < count; i++) {
        const load = startLoad(world, WAITING, random, 0, () => plannedOrder(world, random, awayMs + LATEST_MS));
        await later(1_000);
        found.push(...(await load.stop()));
        orders += load.sent();
        if (i % 2 === 0) await world.postgres.pause(awayMs);
        else await world.postgres.restart('fast', awayMs);
        const backMs = performance.now();
        await world.untilReady();
        found.push(...(await untilAllGiven(world)));
        recoveries.push(performance.now() - backMs);
      }
      await deliveries.stop();
      const notes = [`Postgres was away for ${awayMs / 1_000} s each time; ready again: when the last order was given`];
      return { count, orders, findings: found, recoveries, notes };
    }),
};

const READY_NOW_SHARE = 0.5;
const SWITCH_PAUSE_MS = 500;

export const dispatchMode: Row = {
  name: 'dispatch-mode',
  what: 'the command line sets the dispatch mode of a tier, to and fro, while orders wait for drivers and times',
  count: 100,
  needs: ['redis'],
  run: (count, random) =>
    inWorld({ ...FEW, drivers: 9 }, async (world) => {
      await spreadDrivers(world);
      const next = () => (random() < READY_NOW_SHARE ? anyOrder(world, random, true) : plannedOrder(world, random));
      const env = { DATABASE_URL: world.postgres.url, SANDBOX: '1' };
      const act = async (): Promise<string[]> => {
        for (let i = 0; i < count; i++) {
          await later(SWITCH_PAUSE_MS * random());
          const mode = random() < 0.5 ? 'nearest' : 'planned';
          await runBuiltCli(env, 'tier', 'set', any(TIER_IDS, random), '--dispatch-mode', mode);
        }
        return [];
      };
      return { count, ...(await underPlanned(world, ORDERS_PER_SECOND, random, act, next)) };
    }),
};
