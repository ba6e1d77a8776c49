import { Redis } from 'ioredis';
import { freshRedis } from '../../test/harness/redis.ts';
import { type Drive, driveOf } from './sockets-drive.ts';
import { clockMs } from './sockets-line.ts';
import { cpuMsOf } from './sockets-watch.ts';
import { driverId } from './sockets-world.ts';

/** Reports of 5 ms at 50,000 a second; more at once would only delay each one. */
const PIPELINE = 250;
const IN_FLIGHT = 4;

export type GeoAdd = {
  readonly what: string;
  readonly reports: number;
  readonly tookMs: number;
  readonly pipelinesMs: Float64Array;
  /** Load of this process and of Redis, in cores. */
  readonly clientCores: number;
  readonly redisCores: number;
};

/** Adds the reports of a range; each kind of client has its own. */
type Add = (from: number, to: number) => Promise<void>;

/**
 * Writes the same drivers and steps to a Redis of its own by GEOADD, one command a report: through the client
 * that a team would use. Nothing where there is no Redis.
 */
export async function measureGeoAdd(drivers: number, rounds: number): Promise<GeoAdd[]> {
  const server = await freshRedis();
  if (!server) return [];
  const redis = new Redis(server.url);
  try {
    // Positions need not survive a restart of this Redis; another one's settings are left alone.
    if (process.env.REDIS_URL === undefined) await redis.config('SET', 'appendonly', 'no');
    const info = await redis.info();
    const read = (name: string) => new RegExp(`^${name}:(.*)$`, 'm').exec(info)?.[1]?.trim() ?? '';
    const measure = { pid: Number(read('process_id')), drivers, total: drivers * rounds };
    const add = throughClient(redis, `${server.prefix}:places`, drivers);
    return [await measureAdd(`Redis ${read('redis_version')} GEOADD, ioredis pipelines of ${PIPELINE}`, add, measure)];
  } finally {
    redis.disconnect();
    await server.stop();
  }
}

type Measure = { readonly pid: number; readonly drivers: number; readonly total: number };

async function measureAdd(what: string, add: Add, { pid, drivers, total }: Measure): Promise<GeoAdd> {
  const times: number[] = [];
  const run = async (end: number) => {
    let next = 0;
    const some = async () => {
      while (next < end) {
        const from = next;
        next += PIPELINE;
        const startedMs = clockMs();
        await add(from, Math.min(end, from + PIPELINE));
        times.push(clockMs() - startedMs);
      }
    };
    await Promise.all(Array.from({ length: IN_FLIGHT }, some));
  };
  // Every driver is added once before the clock starts, as in the service.
  await run(drivers);
  times.length = 0;
  const cpu = [process.cpuUsage(), cpuMsOf(pid)] as const;
  const startedMs = clockMs();
  await run(total);
  const tookMs = clockMs() - startedMs;
  const used = process.cpuUsage(cpu[0]);
  return {
    what,
    reports: total,
    tookMs,
    pipelinesMs: Float64Array.from(times),
    clientCores: (used.user + used.system) / 1_000 / tookMs,
    redisCores: (cpuMsOf(pid) - cpu[1]) / tookMs,
  };
}

function throughClient(redis: Redis, key: string, drivers: number): Add {
  const placeOf: Drive = driveOf(drivers);
  const ids = Array.from({ length: drivers }, (_, index) => driverId(index));
  return async (from, to) => {
    const pipeline = redis.pipeline();
    for (let at = from; at < to; at++) {
      const { lat, lng } = placeOf(at % drivers, Math.floor(at / drivers));
      pipeline.geoadd(key, lng, lat, ids[at % drivers] as string);
    }
    for (const [error] of (await pipeline.exec()) ?? []) if (error) throw error;
  };
}
