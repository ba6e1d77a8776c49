import { createECDH, createHash, createHmac, pbkdf2Sync } from 'node:crypto';
import { existsSync, readFileSync } from 'node:fs';
import { open } from 'node:fs/promises';
import { join } from 'node:path';
import { Fleet } from '../dispatch/fleet.ts';
import { type Backup, NotRestored, type Restored, restoreBackup } from '../embedded/backup-cluster.ts';
import { ROLE } from '../embedded/postgres-cluster.ts';
import { Matcher } from '../matcher/matcher.ts';
import { photoPath } from '../photos/photo-storage.ts';
import type { Sql } from '../postgres/connect.ts';
import { migrateDatabase } from '../postgres/migrate.ts';
import { MIGRATIONS } from '../runtime/database.ts';
import * as checks from '../store/operator/backup-checks.ts';
import { openStore } from '../store/store.ts';
import { errorFields } from '../telemetry.ts';

/** Photos that one statement names. */
const PHOTOS_PART = 5_000;
/** Photos that are named of those that are missing: enough to look at. */
const NAMED_PHOTOS = 5;
/** What a JPEG begins and ends with. */
const JPEG = { start: 'ffd8', end: 'ffd9' };
const VERIFIER = /^SCRAM-SHA-256\$(\d{1,7}):([^$]{1,100})\$([^:]{1,100}):/;

/** `not_given`: what it needs is not there, so that it says nothing. */
type Finding = {
  readonly check: string;
  readonly status: 'ok' | 'broken' | 'not_given';
  readonly says: string;
};

type Given = Backup & {
  /** The photos of the same moment: a copy of `DATA_DIR/photos` or of the bucket. */
  readonly photos: string | null;
  /** A copy of DATA_DIR. */
  readonly dataDir: string | null;
};

/**
 * Restores a backup into a cluster of its own and says what is in it. Nothing is sent to a vendor, and the database
 * of the service is not touched. The cluster is removed in the end.
 *
 * @param log says what is being done
 * @throws NotRestored if nothing can be said
 */
export async function checkBackup(given: Given, log: (line: string) => void): Promise<Finding[]> {
  const started = performance.now();
  const restored = await restoreBackup(given, log);
  try {
    const seconds = Math.ceil((performance.now() - started) / 1000);
    return await checkRestored(restored, given, seconds);
  } finally {
    await restored.remove();
  }
}

/** @param seconds that the restore took */
export async function checkRestored(
  { sql, place, kind, version }: Restored,
  given: Pick<Given, 'photos' | 'dataDir'>,
  seconds: number,
): Promise<Finding[]> {
  const applied = await migrateDatabase({ ...place, dir: MIGRATIONS }).catch((error: Error) => {
    throw new NotRestored(error.message, { cause: error });
  });
  const broken = await checks.findBroken(sql);
  const owed = Object.entries(await checks.countOwed(sql)).map(([queue, count]) => `${count} ${queue}`);
  const photos = given.photos ?? (given.dataDir === null ? null : join(given.dataDir, 'photos'));
  return [
    ok('restore', `a ${kind} of Postgres ${version}, restored in ${seconds} s`),
    ok('recovery point', describe(await checks.readRecovery(sql))),
    ok(
      'schema',
      applied.length === 0 ? 'that of this version' : `that of before ${applied[0]}, which the start changes`,
    ),
    ok('owed jobs', owed.length === 0 ? 'none' : `${owed.join(', ')}: the start hands them over again`),
    ...(broken.length === 0 ? [ok('orders', 'each with its driver, events, charge, payout and jobs')] : []),
    ...broken.map(({ rule, count, ids }) =>
      bad('orders', `${count} ${rule} (${ids.join(', ')}${count > ids.length ? ', …' : ''})`),
    ),
    await checkStart(sql),
    await checkPhotos(sql, photos),
    checkSecrets(await checks.readSecrets(sql)),
    await checkPassword(sql, kind === 'base backup' ? given.dataDir : null),
  ];
}

const ok = (check: string, says: string): Finding => ({ check, status: 'ok', says });
const bad = (check: string, says: string): Finding => ({ check, status: 'broken', says });
const notGiven = (check: string, says: string): Finding => ({ check, status: 'not_given', says });

function describe({ orders, newestOrderAt, now }: checks.Recovery): string {
  if (newestOrderAt === null) return 'there is no order';
  const minutes = Math.floor((now.getTime() - newestOrderAt.getTime()) / 60_000);
  const age = `${Math.floor(minutes / 60)} h ${minutes % 60} min`;
  return `the newest of ${orders} orders is of ${newestOrderAt.toISOString()}, ${age} ago`;
}

/** Whether memory can be filled from it, as at a start of the service. */
async function checkStart(sql: Sql): Promise<Finding> {
  const started = performance.now();
  const store = openStore({ sql, commits: sql, lists: sql, processId: 'backup check' });
  try {
    const matcher = new Matcher(await store.loadTiers());
    await new Fleet(matcher, store, { driverFreed: () => undefined }).rebuild();
    const orders = matcher.waitingCount() + matcher.laterCount();
    const seconds = Math.ceil((performance.now() - started) / 1000);
    return ok('start', `${[...matcher.driverIds()].length} drivers and ${orders} waiting orders, read in ${seconds} s`);
  } catch (error) {
    // Its message may quote what is stored.
    const { name, code } = errorFields(error);
    return bad('start', `drivers and waiting orders cannot be read: ${code ?? name}`);
  }
}

async function checkPhotos(sql: Sql, folder: string | null): Promise<Finding> {
  if (folder === null) return notGiven('photos', 'name their folder by --photos or --data-dir');
  const lost: string[] = [];
  let count = 0;
  for (let last: string | null = null; ; ) {
    const part: { id: string; photo_name: string }[] = await checks.listPhotos(sql, last, PHOTOS_PART);
    for (const { id, photo_name } of part) {
      if (!(await isWhole(join(folder, photoPath(photo_name))))) lost.push(id);
    }
    count += part.length;
    last = part.at(-1)?.id ?? null;
    if (part.length < PHOTOS_PART) break;
  }
  if (lost.length === 0) return ok('photos', `all ${count} are there`);
  const named = lost.slice(0, NAMED_PHOTOS).join(', ');
  return bad('photos', `${lost.length} of ${count} are missing or not whole, of the orders ${named}`);
}

/**
 * Whether a photo is there, and begins and ends as one does.
 *
 * @throws where this user has no right to read it
 */
async function isWhole(path: string): Promise<boolean> {
  try {
    const file = await open(path);
    try {
      const { size } = await file.stat();
      const read = async (at: number) => (await file.read(Buffer.alloc(2), 0, 2, at)).buffer.toString('hex');
      return size > 4 && (await read(0)) === JPEG.start && (await read(size - 2)) === JPEG.end;
    } finally {
      await file.close();
    }
  } catch (error) {
    if (['EACCES', 'EPERM'].includes((error as NodeJS.ErrnoException).code ?? '')) throw error;
    return false;
  }
}

/** Whether the secrets that the service signs with do so. */
function checkSecrets({ pushKeys, webhookSecrets }: checks.KeptSecrets): Finding {
  const wrong = webhookSecrets.filter((secret) => !/^whsec_[A-Za-z0-9+/]{32,88}={0,2}$/.test(secret)).length;
  if (wrong > 0) return bad('secrets', `${wrong} secrets of webhooks are none`);
  if (pushKeys !== null && !isPair(pushKeys))
    return bad('secrets', 'the push keys are no pair: phones have to subscribe again');
  return ok('secrets', `${webhookSecrets.length} of webhooks, ${pushKeys === null ? 'no' : 'the'} keys of pushes`);
}

function isPair({ publicKey, privateKey }: NonNullable<checks.KeptSecrets['pushKeys']>): boolean {
  const curve = createECDH('prime256v1');
  try {
    curve.setPrivateKey(Buffer.from(privateKey, 'base64url'));
    return curve.getPublicKey('base64url') === publicKey;
  } catch {
    return false;
  }
}

/** Whether the password beside an embedded cluster opens it (RFC 5803, as Postgres keeps it). */
async function checkPassword(sql: Sql, dataDir: string | null): Promise<Finding> {
  const file = join(dataDir ?? '', 'postgres.json');
  if (dataDir === null || !existsSync(file)) return notGiven('password', 'no postgres.json of a sandbox to compare');
  const [, rounds, salt = '', stored] = VERIFIER.exec((await checks.readVerifier(sql, ROLE)) ?? '') ?? [];
  const { password } = JSON.parse(readFileSync(file, 'utf8')) as { password: string };
  const salted = pbkdf2Sync(password, Buffer.from(salt, 'base64'), Number(rounds ?? 1), 32, 'sha256');
  const key = createHmac('sha256', salted).update('Client Key').digest();
  const isRight = createHash('sha256').update(key).digest('base64') === stored;
  return isRight
    ? ok('password', 'that of postgres.json opens the cluster')
    : bad('password', 'postgres.json is of another cluster');
}
