/**
 * The servers in common use for the nearest driver: Redis (GEOSEARCH) and Postgres with PostGIS (`<->`). Each
 * holds the same drivers as the matcher and answers over one connection on this machine, one query at a time,
 * so a call's time includes the round trip, as it does for their users.
 */
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { Redis } from 'ioredis';
import postgres, { type Sql } from 'postgres';
import { type ContractTierId, TIER_IDS, type TierId } from '../../src/domain/tier.ts';
import type { Point } from '../../src/geo/point.ts';
import { type Postgis, startPostgis } from '../../test/harness/postgis.ts';
import { type FreshRedis, freshRedis } from '../../test/harness/redis.ts';
import type { WorldDriver } from '../../test/harness/world.ts';

const BATCH = 1_000;
const SAMPLE = 100;
/** Half the circumference of the Earth: no place is farther away. */
const EVERYWHERE_METERS = 20_100_000;
const FIRST_RADII_METERS = [62.5, 250, 1_000, 4_000, 16_000, 64_000, 256_000];
const GROWTH = 4;
const INDEX_MEMORY = '512MB';

export type RedisPeer = {
  readonly version: string;
  /** Replaces the drivers. */
  load(drivers: readonly WorldDriver[]): Promise<void>;
  /** The driver's id; undefined if no driver serves the tier. */
  nearestRedis(point: Point, tierId?: TierId): Promise<string | undefined>;
  /** Moves a driver under each of their tiers, in one round trip. */
  moveRedis(driver: WorldDriver, point: Point): Promise<void>;
  close(): Promise<void>;
};

export type PostgisPeer = {
  readonly version: string;
  /** Replaces the drivers. */
  load(drivers: readonly WorldDriver[]): Promise<void>;
  /** The driver's id; undefined if no driver serves the tier. */
  nearestPostgis(point: Point, tierId?: ContractTierId): Promise<string | undefined>;
  close(): Promise<void>;
};

/** One sorted set a tier, since GEOSEARCH has no other condition. Undefined if there is no Redis. */
export async function openRedisPeer(): Promise<RedisPeer | undefined> {
  const server = await freshRedis();
  return server && redisPeer(server);
}

async function redisPeer(server: FreshRedis): Promise<RedisPeer> {
  const redis = new Redis(server.url);
  const keyOf = (tierId: TierId) => `${server.prefix}:drivers:${tierId}`;
  /** The radius of a search's first query; `load` finds the quickest. */
  let firstRadius = EVERYWHERE_METERS;

  const add = async (drivers: readonly WorldDriver[]): Promise<void> => {
    for (let from = 0; from < drivers.length; from += BATCH) {
      const batch = drivers.slice(from, from + BATCH);
      await Promise.all(
        TIER_IDS.map(async (tierId) => {
          const members = batch
            .filter((driver) => driver.tierIds.includes(tierId))
            .flatMap(({ id, point }) => [point.lng, point.lat, id]);
          if (members.length > 0) await redis.geoadd(keyOf(tierId), ...members);
        }),
      );
    }
  };

  /** GEOSEARCH visits and sorts all within its radius, so a search begins with a small one and widens it. */
  const search = async ({ lat, lng }: Point, tierId: TierId, firstMeters: number): Promise<string | undefined> => {
    for (let radius = firstMeters; ; radius = Math.min(radius * GROWTH, EVERYWHERE_METERS)) {
      const where = ['FROMLONLAT', lng, lat, 'BYRADIUS', radius, 'm', 'ASC', 'COUNT', 1] as const;
      const [found] = await redis.geosearch(keyOf(tierId), ...where);
      if (found !== undefined || radius === EVERYWHERE_METERS) return found as string | undefined;
    }
  };

  return {
    version: /redis_version:(\S+)/.exec(await redis.info('server'))?.[1] ?? '',
    async load(drivers) {
      await redis.del(...TIER_IDS.map(keyOf));
      // The drivers held back stand for orders: places of the same world, where no loaded driver is.
      const every = Math.ceil(drivers.length / SAMPLE);
      await add(drivers.filter((_, i) => i % every > 0));
      const sample = drivers.filter((_, i) => i % every === 0);
      firstRadius = await quickest(FIRST_RADII_METERS, async (radius) => {
        for (const { point } of sample) await search(point, 'standard', radius);
      });
      await add(sample);
    },
    nearestRedis: (point, tierId = 'standard') => search(point, tierId, firstRadius),
    async moveRedis({ id, tierIds }, { lat, lng }) {
      await Promise.all(tierIds.map((tierId) => redis.geoadd(keyOf(tierId), lng, lat, id)));
    },
    async close() {
      redis.disconnect();
      await server.stop();
    },
  };
}

/** The choice with the quickest run; the first that takes four times as long as the best ends the search. */
async function quickest(choices: readonly number[], run: (choice: number) => Promise<void>): Promise<number> {
  let best = { choice: choices[0] as number, ms: Number.POSITIVE_INFINITY };
  await run(best.choice);
  for (const choice of choices) {
    const started = performance.now();
    await run(choice);
    const ms = performance.now() - started;
    if (ms > 4 * best.ms) break;
    if (ms < best.ms) best = { choice, ms };
  }
  return best.choice;
}

/**
 * A geography column, whose `<->` is the distance on the sphere, and a GiST index a tier with only those who
 * serve it. Undefined if there is no PostGIS.
 */
export async function openPostgisPeer(): Promise<PostgisPeer | undefined> {
  const server = await startPostgis();
  return server && postgisPeer(server);
}

async function postgisPeer(server: Postgis): Promise<PostgisPeer> {
  const sql = postgres(server.url, {
    max: 1,
    onnotice: () => undefined,
    connection: { maintenance_work_mem: INDEX_MEMORY } as object,
  });
  await sql`create table drivers (id text not null, location geography(point) not null, tiers bit(3) not null)`;
  return {
    version: `${server.versions.postgis} on Postgres ${server.versions.postgres}`,
    async load(drivers) {
      for (const tierId of TIER_IDS) await sql`drop index if exists ${sql(`drivers_${tierId}`)}`;
      await sql`drop index if exists drivers_by_id`;
      await sql`truncate drivers`;
      const rows = await sql`copy drivers from stdin`.writable();
      await pipeline(Readable.from(copyRows(drivers)), rows);
      await sql`create unique index drivers_by_id on drivers (id)`;
      for (const [i, tierId] of TIER_IDS.entries()) {
        await sql.unsafe(
          `create index drivers_${tierId} on drivers using gist (location) where get_bit(tiers, ${i}) = 1`,
        );
      }
      await sql`vacuum analyze drivers`;
    },
    async nearestPostgis({ lat, lng }, tierId = 'standard') {
      // The condition is in the text as in the index; text and plan are kept after the first call.
      const [row] = await sql`
        select id from drivers where ${serves[tierId](sql)}
        order by location <-> st_setsrid(st_makepoint(${lng}, ${lat}), 4326)::geography limit 1`;
      return row?.id as string | undefined;
    },
    async close() {
      await sql.end({ timeout: 5 });
      await server.stop();
    },
  };
}

const serves: Record<ContractTierId, (sql: Sql) => postgres.PendingQuery<postgres.Row[]>> = {
  standard: (sql) => sql`get_bit(tiers, 0) = 1`,
  priority: (sql) => sql`get_bit(tiers, 1) = 1`,
  scheduled: (sql) => sql`get_bit(tiers, 2) = 1`,
};

/** COPY's text format, a few thousand rows at a time. */
function* copyRows(drivers: readonly WorldDriver[]): Generator<string> {
  for (let from = 0; from < drivers.length; from += BATCH) {
    yield drivers
      .slice(from, from + BATCH)
      .map(({ id, point, tierIds }) => {
        const bits = TIER_IDS.map((tierId) => (tierIds.includes(tierId) ? 1 : 0)).join('');
        return `${id}\tSRID=4326;POINT(${point.lng} ${point.lat})\t${bits}\n`;
      })
      .join('');
  }
}
