import { execFileSync } from 'node:child_process';
import { join } from 'node:path';
import { checkRestored } from '../../../src/app/backup-check.ts';
import { restoreBackup } from '../../../src/embedded/backup-cluster.ts';
import { below } from '../../../src/limits.ts';
import { readRecovery } from '../../../src/store/operator/backup-checks.ts';
import { type LiveDatabase, PROGRAMS, startLiveDatabase } from '../../harness/live-database.ts';
import type { Random } from '../../harness/world.ts';
import { startLoad } from '../clients.ts';
import { startDeliveries } from '../deliveries.ts';
import type { Heard } from '../history.ts';
import { processesOf, signal } from '../postgres.ts';
import { findUnrestored, missingOf, type Restoration } from '../restored.ts';
import { inWorld, ORDERS_PER_SECOND, type Row, type RowResult } from '../row.ts';
import { later, type World } from '../world.ts';

/** `archive_timeout` in seconds. docs/deploy.md has 300, with which each restore would take 5 min more. */
const ARCHIVE_TIMEOUT_SECONDS = 2;
/** Time for the switch, which Postgres times in whole seconds, and for the copy of 16 MB on busy cores. */
const SWITCH_AND_COPY_MS = 5_000;
/** Age at the kill up to which an acknowledged order may be missing. */
const MAY_LOSE_MS = ARCHIVE_TIMEOUT_SECONDS * 1_000 + SWITCH_AND_COPY_MS;
/** Time under load before the base backup, so that it holds orders. */
const FIRST_MS = 3_000;
/** Shortest time under load from the base backup to the kill. Above MAY_LOSE_MS, so that the log alone has orders. */
const LOGGED_MS = 20_000;
below({ MAY_LOSE_MS }, { LOGGED_MS });
const SETTINGS = {
  archive_timeout: ARCHIVE_TIMEOUT_SECONDS,
  fsync: 'on',
  // In its folder, where nothing outlives it.
  dynamic_shared_memory_type: 'mmap',
};

export const restore: Row = {
  name: 'restore',
  what: 'Postgres is killed and its files are lost; a base backup and the archived log are restored',
  count: 3,
  needs: ['backups'],
  async run(count, random) {
    const results: RowResult[] = [];
    for (let i = 0; i < count; i++) results.push(await loseAndRestore(random));
    return {
      count,
      orders: results.reduce((sum, { orders }) => sum + orders, 0),
      findings: results.flatMap(({ findings }) => findings),
      recoveries: results.flatMap(({ recoveries = [] }) => recoveries),
      notes: results.flatMap(({ notes = [] }) => notes),
    };
  },
};

async function loseAndRestore(random: Random): Promise<RowResult> {
  const live = await startLiveDatabase(SETTINGS);
  // Nothing is left to judge but what was restored.
  const judge = async () => [];
  try {
    return await inWorld({ databaseUrl: live.url }, (world) => loseUnderLoad(live, world, random), judge);
  } finally {
    await live.stop();
  }
}

async function loseUnderLoad(live: LiveDatabase, world: World, random: Random): Promise<RowResult> {
  const acknowledgedMs = new Map<string, number>();
  let isLost = false;
  const clients = {
    apis: world.apis,
    stores: world.stores,
    isClosed: () => isLost || world.isClosed(),
    history: {
      ...world.history,
      hears(heard: Heard) {
        if (heard.outcome === 'ok' && heard.orderId !== null) acknowledgedMs.set(heard.orderId, performance.now());
        world.history.hears(heard);
      },
    },
  };
  const load = startLoad(clients, ORDERS_PER_SECOND, random, 1);
  const deliveries = startDeliveries(world, random);
  await later(FIRST_MS);
  const base = join(live.folder, 'base');
  await live.run('pg_basebackup', `--pgdata=${base}`, '--checkpoint=fast');
  const backedUpMs = performance.now();
  await later(LOGGED_MS + random() * ARCHIVE_TIMEOUT_SECONDS * 1_000);
  const killed = await lose(live);
  isLost = true;
  const stopped = [load.stop(), deliveries.stop()] as const;
  await Promise.all([...world.apis, ...world.workers].map((each) => each.kill()));
  const { orders, newestOrderAt, broken, recoveryMs } = await restoreAll(base, join(live.folder, 'wal'), killed.ms);
  const [problems] = await Promise.all(stopped);
  const newestAgeMs = killed.at - (newestOrderAt?.getTime() ?? Number.NEGATIVE_INFINITY);
  const restoration = { acknowledgedMs, backedUpMs, killedMs: killed.ms, orders, newestAgeMs };
  const missing = `${missingOf(restoration).length} of ${acknowledgedMs.size} acknowledged ones are missing`;
  const point = `the newest of ${orders.length} restored orders was ${inSeconds(newestAgeMs)} s old at the kill`;
  const time = `restored, checked and read into memory ${inSeconds(recoveryMs)} s after it`;
  return {
    count: 1,
    orders: load.sent(),
    findings: [...problems, ...broken, ...findUnrestored(restoration, MAY_LOSE_MS)],
    recoveries: [recoveryMs],
    notes: [`${point}, and ${missing}; ${time}`],
  };
}

const inSeconds = (ms: number): string => (ms / 1_000).toFixed(1);

/** Kills every process of Postgres, as `kill -9` does, and removes its files. Returns when it did. */
async function lose({ sql, server }: LiveDatabase): Promise<{ readonly ms: number; readonly at: number }> {
  const [row] = await sql`select split_part(pg_read_file('postmaster.pid'), E'\n', 7) as memory`;
  const all = processesOf([server.pid]);
  const killed = { ms: performance.now(), at: Date.now() };
  for (const pid of all) signal(pid, 'SIGKILL');
  await server.stop();
  // The mark of a cluster in the kernel outlives its processes.
  const [, id = ''] = String(row?.memory).trim().split(/\s+/);
  execFileSync('ipcrm', ['-m', id]);
  return killed;
}

/** Restores and checks as `backup check` does. */
async function restoreAll(path: string, wal: string, killedMs: number) {
  const startedMs = performance.now();
  const cluster = { database: 'live', user: 'bench', programs: PROGRAMS ?? null, temporary: null };
  const restored = await restoreBackup({ path, wal, until: null, ...cluster }, () => undefined);
  try {
    const seconds = Math.ceil((performance.now() - startedMs) / 1_000);
    const checked = await checkRestored(restored, { photos: null, dataDir: null }, seconds);
    const recoveryMs = performance.now() - killedMs;
    const orders: Restoration['orders'][number][] = await restored.sql`
      select o.id, c.name as customer from orders o join customers c on c.id = o.customer_id where o.status <> 'void'`;
    const { newestOrderAt } = await readRecovery(restored.sql);
    const broken = checked.filter(({ status }) => status === 'broken').map(({ check, says }) => `${check}: ${says}`);
    return { orders, newestOrderAt, broken, recoveryMs };
  } finally {
    await restored.remove();
  }
}
