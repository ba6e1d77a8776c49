import { mkdirSync, readdirSync, readFileSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { processStart } from './processes.ts';

/** Time after which a claim on the data folder that is still empty counts as left by a process that died. */
const CLAIM_WRITTEN_MS = 2_000;

/** What a running service tells other processes with the same DATA_DIR: a second start, the command line. */
export type ServiceFacts = {
  readonly mode: 'sandbox' | 'live';
  /** Its URLs by name: `api`, `tracking`, … */
  readonly urls: { readonly [name: string]: string };
  readonly databaseUrl: string;
  /** Where the queues are; null for the same Postgres. */
  readonly redisUrl: string | null;
};

export type LiveService = ServiceFacts & {
  readonly pid: number;
  /** The process's `processStart`, because pids are reused. */
  readonly started: string;
};

const FILE = 'service.json';
const CLAIM = /^service\.claim\.(\d+)$/;

/** The service that runs on this folder; undefined where there is none or its process has died. */
export function readLiveService(dataDir: string): LiveService | undefined {
  const service = readJson(join(dataDir, FILE)) as LiveService | undefined;
  return service && isLive(service) ? service : undefined;
}

/** Writes what this process serves, for its owner only, as it holds a password. Call it once it serves. */
export function writeServiceFile(dataDir: string, facts: ServiceFacts): void {
  const path = join(dataDir, FILE);
  const draft = `${path}.${process.pid}`;
  const service: LiveService = { ...facts, pid: process.pid, started: processStart(process.pid) ?? '' };
  writeFileSync(draft, `${JSON.stringify(service, null, 2)}\n`, { mode: 0o600 });
  renameSync(draft, path);
}

/** Removes the file, if this process wrote it. */
export function removeServiceFile(dataDir: string): void {
  const service = readJson(join(dataDir, FILE)) as LiveService | undefined;
  if (service?.pid === process.pid) rmSync(join(dataDir, FILE), { force: true });
}

export type Claim =
  | { readonly kind: 'claimed'; release(): void }
  /** Another process holds the folder; `readLiveService` tells what it serves once it is up. */
  | { readonly kind: 'held'; readonly pid: number };

/**
 * Makes this process the only one that starts on the folder, which it makes where it is missing. Of several
 * processes at the same time one wins. A holder that died holds nothing.
 *
 * Claims are numbered files, of which the highest one counts. A process that finds its maker dead creates the
 * next number, which the file system allows one process only, and gives it up if a higher one has appeared
 * meanwhile. The highest file is never removed, so a number is not won twice.
 */
export function claimService(dataDir: string): Claim {
  mkdirSync(dataDir, { recursive: true });
  for (;;) {
    const highest = highestClaim(dataDir);
    const holder = readClaim(dataDir, highest);
    if (holder !== undefined && isLive(holder)) return { kind: 'held', pid: holder.pid };
    const mine = highest + 1;
    if (!createClaim(dataDir, mine)) continue;
    if (highestClaim(dataDir) !== mine) {
      rmSync(claimPath(dataDir, mine), { force: true });
      continue;
    }
    for (const older of listClaims(dataDir)) if (older < mine) rmSync(claimPath(dataDir, older), { force: true });
    return { kind: 'claimed', release: () => writeFileSync(claimPath(dataDir, mine), '{"pid":0,"started":""}\n') };
  }
}

type Holder = { readonly pid: number; readonly started: string };

const isLive = (holder: Holder): boolean => processStart(holder.pid) === holder.started;

const claimPath = (dataDir: string, number: number): string => join(dataDir, `service.claim.${number}`);

const listClaims = (dataDir: string): number[] =>
  readdirSync(dataDir).flatMap((name) => {
    const match = CLAIM.exec(name);
    return match ? [Number(match[1])] : [];
  });

const highestClaim = (dataDir: string): number => Math.max(0, ...listClaims(dataDir));

function createClaim(dataDir: string, number: number): boolean {
  const holder: Holder = { pid: process.pid, started: processStart(process.pid) ?? '' };
  try {
    writeFileSync(claimPath(dataDir, number), `${JSON.stringify(holder)}\n`, { flag: 'wx', mode: 0o600 });
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EEXIST') return false;
    throw error;
  }
}

/** Reads a claim, once it is written; undefined where there is none or it was never finished. */
function readClaim(dataDir: string, number: number): Holder | undefined {
  const path = claimPath(dataDir, number);
  for (;;) {
    const holder = readJson(path) as Holder | undefined;
    if (holder !== undefined) return holder;
    const written = statSync(path, { throwIfNoEntry: false })?.mtimeMs;
    if (written === undefined || Date.now() - written > CLAIM_WRITTEN_MS) return undefined;
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 10);
  }
}

/** Reads a JSON file; undefined where it is missing or not JSON. */
function readJson(path: string): unknown {
  try {
    return JSON.parse(readFileSync(path, 'utf8'));
  } catch (error) {
    if (error instanceof SyntaxError || (error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    throw error;
  }
}
