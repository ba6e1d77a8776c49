import { readFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { below, MIGRATION_DB_CONNECTIONS, PROCESS_DB_CONNECTIONS, QUEUE_DB_CONNECTIONS } from '../limits.ts';
import { connect } from '../postgres/connect.ts';
import { type Binaries, prepareBinaries, programPath } from './postgres-binaries.ts';
import { DATABASE, initCluster, ROLE } from './postgres-cluster.ts';
import { openPlace, type Place } from './postgres-place.ts';
import { findPostmaster, type Postmaster, startPostmaster, stopPostmaster } from './postgres-process.ts';
import { POSTGRES_RETRY_PAUSE_MS } from './postgres-user.ts';
import { processStart } from './processes.ts';

/** Time for which a start is tried again while the processes of a killed Postgres free what they hold. */
const POSTGRES_RETRY_MS = 30_000;
/** Connections of the embedded Postgres. Above those of two processes, with room for psql. */
const POSTGRES_CONNECTIONS = 100;

below(
  {
    'those of two processes': 2 * (PROCESS_DB_CONNECTIONS + QUEUE_DB_CONNECTIONS + MIGRATION_DB_CONNECTIONS),
  },
  { POSTGRES_CONNECTIONS },
);

export type EmbeddedPostgres = {
  /** Holds user and password, so it must not be logged. */
  readonly url: string;
  /** Whether the server was running already. */
  readonly reused: boolean;
  /** Stops the server in bounded time, unless another living process owns it. Idempotent. */
  stop(): Promise<void>;
};

/**
 * Starts Postgres from its npm package on a cluster in `dataDir`, which the first call makes and later ones
 * reuse. It listens on 127.0.0.1 only, on the same port each time where that is free. Call it from the main
 * thread: on Linux the server ends with the thread that started it.
 *
 * A server left by a killed process is used as it is, or stopped where it does not answer or has another
 * version.
 *
 * @throws an Error with a sentence for the operator when the server cannot be started
 */
export async function startEmbeddedPostgres(options: {
  readonly dataDir: string;
  readonly log: (line: string) => void;
  /** False for tests only: a power cut may then destroy the cluster. */
  readonly durable?: boolean;
  readonly maxConnections?: number;
  /** True for tests and benchmarks only: the role of a new cluster may then do everything. */
  readonly superuser?: boolean;
}): Promise<EmbeddedPostgres> {
  const { log, durable = true, superuser = false, maxConnections = POSTGRES_CONNECTIONS } = options;
  const place = await openPlace(options.dataDir, log);
  const binaries = await prepareBinaries(join(options.dataDir, 'cache'), log);
  const left = await takeOver(place, binaries, log);
  if (left !== undefined) return left;

  if (await initCluster(place, binaries, { durable, superuser })) log('Made a new Postgres cluster');
  refuseOtherVersion(place, binaries);
  place.save({ binaries: binaries.root, owner: { pid: process.pid, started: processStart(process.pid) ?? '' } });
  const postmaster = await startWithRetries(place, binaries, { durable, maxConnections }, log);
  return { url: urlOf(place, postmaster.port), reused: false, stop: () => stopPostmaster(postmaster.pid) };
}

const urlOf = (place: Place, port: number): string =>
  `postgres://${ROLE}:${place.record.password}@127.0.0.1:${port}/${DATABASE}`;

/** Takes over a server that runs on the cluster and answers; otherwise makes sure that none runs. */
async function takeOver(
  place: Place,
  binaries: Binaries,
  log: (line: string) => void,
): Promise<EmbeddedPostgres | undefined> {
  const { owner } = place.record;
  const otherOwnerLives = owner.pid !== process.pid && processStart(owner.pid) === owner.started;
  const until = performance.now() + POSTGRES_RETRY_MS;
  for (;;) {
    const found = findPostmaster(place.clusterDir);
    if (found === undefined) return undefined;
    const sameProgram = place.record.binaries === binaries.root;
    if (found.ready && (sameProgram || otherOwnerLives) && (await answers(urlOf(place, found.port)))) {
      log(`Using the Postgres that is running already (process ${found.pid})`);
      if (otherOwnerLives) return { url: urlOf(place, found.port), reused: true, stop: async () => undefined };
      place.save({ owner: { pid: process.pid, started: processStart(process.pid) ?? '' } });
      return { url: urlOf(place, found.port), reused: true, stop: () => stopPostmaster(found.pid) };
    }
    if (!sameProgram || performance.now() > until) {
      log(`Stopping a Postgres that was left running (process ${found.pid})`);
      await stopPostmaster(found.pid);
      return undefined;
    }
    // It is starting, or stopping because its owner died.
    await sleep(POSTGRES_RETRY_PAUSE_MS);
  }
}

/** Retries while a killed predecessor's processes hold its memory, and when the port was taken meanwhile. */
async function startWithRetries(
  place: Place,
  binaries: Binaries,
  options: { durable: boolean; maxConnections: number },
  log: (line: string) => void,
): Promise<Postmaster> {
  const until = performance.now() + POSTGRES_RETRY_MS;
  for (;;) {
    const port = await choosePort(place.record.port);
    try {
      const postmaster = await startPostmaster(place, programPath(binaries, 'postgres'), port, options, log);
      place.save({ port });
      return postmaster;
    } catch (error) {
      const passing = /pre-existing shared memory|lock file|could not bind|create any TCP/.test(String(error));
      if (!passing || performance.now() > until) throw error;
      await sleep(POSTGRES_RETRY_PAUSE_MS);
    }
  }
}

/** The wanted port where it is free, else another one. */
async function choosePort(wanted: number): Promise<number> {
  return (wanted > 0 ? await tryPort(wanted) : undefined) ?? (await tryPort(0)) ?? 0;
}

function tryPort(port: number): Promise<number | undefined> {
  return new Promise((resolve) => {
    const server = createServer();
    server.once('error', () => resolve(undefined));
    server.listen({ port, host: '127.0.0.1', exclusive: true }, () => {
      const address = server.address();
      server.close(() => resolve(address !== null && typeof address === 'object' ? address.port : undefined));
    });
  });
}

async function answers(url: string): Promise<boolean> {
  const sql = connect({ url, max: 1, applicationName: 'sameday start' });
  try {
    await sql`select 1`;
    return true;
  } catch {
    return false;
  } finally {
    await sql.end({ timeout: 1 });
  }
}

function refuseOtherVersion(place: Place, binaries: Binaries): void {
  const cluster = readVersion(place);
  const major = binaries.version.split('.')[0];
  if (cluster === major) return;
  throw new Error(
    `The database in ${place.clusterDir} was made by Postgres ${cluster}, and Postgres ${major} is installed: dump it with the former version, or set DATA_DIR to a new folder.`,
  );
}

function readVersion(place: Place): string {
  try {
    return readFileSync(join(place.clusterDir, 'PG_VERSION'), 'utf8').trim();
  } catch (error) {
    const otherUser = (error as NodeJS.ErrnoException).code === 'EACCES';
    throw new Error(
      otherUser
        ? `${place.clusterDir} belongs to another user: start as that user or as root, or set DATA_DIR.`
        : `${place.clusterDir} is not a whole database; restore it, or remove it to start empty.`,
      { cause: error },
    );
  }
}
