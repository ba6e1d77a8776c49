import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { build } from 'esbuild';
import { describe, expect, test } from 'vitest';
import { MAX_PAYMENT_ATTEMPTS } from '../src/limits.ts';
import { ASSERTED, assertAll, BOUNDS, FIGURES } from './harness/bounds.ts';

const root = join(import.meta.dirname, '..');

/** Relations between bounds of files of which none knows the others' bounds. */
const ACROSS = `
atMost({ 'a list by MAX_EXTERNAL_ID_LENGTH characters': 12 * MAX_EXTERNAL_ID_LENGTH + 400 }, { MAX_TARGET_LENGTH });
below({ TRANSPORT_SILENCE_MS }, { UNSENT_FORGOTTEN_MS });
below({ 'KEEP_ALIVE_SECONDS in ms': KEEP_ALIVE_SECONDS * 1_000 }, { TRANSPORT_SILENCE_MS });
below(
  { 'MAX_ORDER_WAIT_MS with the places of others': MAX_ORDER_WAIT_MS * (1 + 1 / PLACES_PER_FREE) },
  { MAX_COMMIT_WAIT_MS },
);
atMost(
  { 'bytes of MAX_BATCHES_PER_STORE': 100 * MAX_BATCHES_PER_STORE * MAX_BATCH_BYTES },
  { MAX_BUFFERED_BODY_BYTES },
);
atMost({ BATCH_ORDERS_IN_LINE }, { MAX_ORDERS_PER_BATCH });
below({ DROPOFF_CHANGES_PER_MINUTE }, { MAX_DROPOFF_CHANGES });
below(
  { 'MAX_COMMIT_WAIT_MS + QUERY_DEADLINE_MS + RESOLVE_MS': MAX_COMMIT_WAIT_MS + QUERY_DEADLINE_MS + RESOLVE_MS },
  { REQUEST_DEADLINE_MS },
);
below({ PLANNER_ORDERED_STOPS }, { PLANNER_MAX_STOPS });
below({ PLAN_TOLD_MS }, { ESTIMATE_MOVED_MS });
below({ ROUTER_TIMEOUT_MS }, { ROAD_ROUND_MS });
below(
  { ARRIVAL_SLOW_METERS_PER_SECOND },
  { 'WAY_METERS_PER_MINUTE on the road': (WAY_METERS_PER_MINUTE * ARRIVAL_DETOUR) / 60 },
);
below(
  { 'WAY_METERS_PER_MINUTE on the road': (WAY_METERS_PER_MINUTE * ARRIVAL_DETOUR) / 60 },
  { ARRIVAL_FAST_METERS_PER_SECOND },
);
below({ DEFAULT_PROMISE_MINUTES }, { MAX_PROMISE_MINUTES });
below({ DUE_TOLERANCE_MS }, { DUE_SOON_MS });
atMost({ CUSTOMER_SHOWN_METERS }, { STILL_AT_PICKUP_METERS });
below({ MAX_CLOCK_LEAD_MS }, { STAMP_SKEW_MS });
below({ '2 × TRACKING_PING_MS': 2 * TRACKING_PING_MS }, { 'SOCKET_IDLE_SECONDS in ms': SOCKET_IDLE_SECONDS * 1_000 });
below({ '2 × DRIVER_PING_MS': 2 * DRIVER_PING_MS }, { 'SOCKET_IDLE_SECONDS in ms': SOCKET_IDLE_SECONDS * 1_000 });
below({ '2 × MAX_LIVE_STATEMENTS + MAX_KEY_READS': 2 * MAX_LIVE_STATEMENTS + MAX_KEY_READS }, { DB_CONNECTIONS });
below({ MAX_EXACT_PARCELS }, { MAX_DRIVER_CAPACITY });
below({ '2 × DRIVER_ASK_MS': 2 * DRIVER_ASK_MS }, { POSITION_FRESH_MS });
below({ 'reports a second': 1_000 / DRIVER_REPORT_MS }, { DRIVER_MESSAGES_PER_SECOND });
below({ HANDOVER_ASK_METERS }, { DOOR_FAR_METERS });
below({ RELAY_HELD_MS }, { 'OUTBOX_FIRST_LEASE_SECONDS in ms': OUTBOX_FIRST_LEASE_SECONDS * 1_000 });
below(
  { '2 × RELAY_MARK_MS': 2 * RELAY_MARK_MS },
  { 'OUTBOX_FIRST_LEASE_SECONDS in ms': OUTBOX_FIRST_LEASE_SECONDS * 1_000 },
);
atMost({ RELAY_BATCH }, { QUEUE_CHECK_ROWS });
atMost({ JOBS_PER_BATCH }, { LOCATE_CONCURRENCY });
atMost({ MAX_JOBS_PER_STATEMENT }, { NOTICE_IDS });
atMost({ JOB_GATHER_MS }, { HAND_OVER_MS });
below(
  { 'TEXT_HELD_UP_MS + TWILIO_TIMEOUT_MS': TEXT_HELD_UP_MS + TWILIO_TIMEOUT_MS },
  { 'TEXT_LOOKUP_SECONDS[1] in ms': TEXT_LOOKUP_SECONDS[1] * 1_000 },
);
atMost({ ACCOUNT_REFUSED_PAUSE_SECONDS }, { OUTBOX_LEASE_SECONDS });
below({ MAX_GEOCODER_WAITING_PER_STORE }, { LOCATE_CONCURRENCY });
below({ WEBHOOK_TRIED_SECONDS }, { 'WEBHOOK_KEPT_DAYS in seconds': WEBHOOK_KEPT_DAYS * 86_400 });
below({ MAX_CLOCK_DIFFERENCE_MS }, { 'LISTED_EARLIER_SECONDS in ms': LISTED_EARLIER_SECONDS * 1_000 });
below({ GEOCODER_TIMEOUT_MS }, { LOCATE_TIMEOUT_MS });
below({ PUBLIC_GEOCODER_PACE_MS }, { 'LOCATE_TIMEOUT_MS / 2': LOCATE_TIMEOUT_MS / 2 });
atMost(
  { 'bytes of MAX_PHOTO_QUEUE photos and one': (MAX_PHOTO_QUEUE + 1) * MAX_PHOTO_BYTES },
  { MAX_BUFFERED_PHOTO_BYTES },
);
below(
  { 'PHOTO_BUCKET_ATTEMPTS × PHOTO_BUCKET_SILENCE_MS': PHOTO_BUCKET_ATTEMPTS * PHOTO_BUCKET_SILENCE_MS },
  { PHOTO_BUCKET_DEADLINE_MS },
);
below({ MAX_STRIPE_EVENT_BYTES }, { MAX_DISCARDED_BODY_BYTES });
below({ SIMULATED_TOP_METERS_PER_SECOND }, { PLAUSIBLE_METERS_PER_SECOND });
below({ MIN_DELIVERY_MS }, { SIMULATED_DELIVERY_MS });
below({ 'DRAIN_MS + CLOSE_DEADLINE_MS': DRAIN_MS + CLOSE_DEADLINE_MS }, { STOP_DEADLINE_MS });
below({ JOB_FINISH_MS }, { CLOSE_DEADLINE_MS });
atMost(
  { 'SOCKET_RETURN_MS of MAX_TRACKING_SOCKETS': SOCKET_RETURN_MS * MAX_TRACKING_SOCKETS },
  { MINUTE_MS: 60_000 },
);
`;
const across = ACROSS.match(/^(?:below|atMost)\([\s\S]*?\);$/gm) ?? [];
const relations = [...ASSERTED, ...across];

test('every bound has a sentence of its own', () => {
  expect(BOUNDS.length).toBeGreaterThan(600);
  const names = new Map(BOUNDS.map(({ name, file, sentence }) => [`${file} ${sentence}`, name]));
  expect(BOUNDS.filter(({ name, file, sentence }) => names.get(`${file} ${sentence}`) !== name)).toEqual([]);
  for (const { sentence } of BOUNDS) expect(sentence).toMatch(/^[A-Z\d`].*\.$/);
});

test('no constant that looks like a bound lacks a comment', () => {
  const documented = new Set(BOUNDS.map(({ name, file }) => `${file} ${name}`));
  expect(FIGURES.map(({ name, file }) => `${file} ${name}`).filter((each) => !documented.has(each))).toEqual([]);
});

test('every relation holds', () => {
  assertAll(relations);
});

describe('a relation that a comment states is asserted', () => {
  const tooLarge = BOUNDS.filter(({ sentence }) => /Below |At most |\bbelow [A-Z_]{6,}/.test(sentence));
  const tooSmall = BOUNDS.filter(({ sentence }) => /Above |At least |\babove [A-Z_]{6,}/.test(sentence));
  expect(tooLarge.length).toBeGreaterThan(100);
  expect(tooSmall.length).toBeGreaterThan(50);

  test.each(tooLarge)('$name has an upper bound', ({ name }) => {
    expect(() => assertAll(relations, new Map([[name, '1e15']]))).toThrow(name);
  });
  test.each(tooSmall)('$name has a lower bound', ({ name }) => {
    const small = name === 'TEXT_LOOKUP_SECONDS' ? '[0, 0]' : '0';
    expect(() => assertAll(relations, new Map([[name, small]]))).toThrow(name);
  });
});

test('a broken relation names both bounds and their values', () => {
  expect(() => assertAll(relations, new Map([['STATEMENT_TIMEOUT_MS', '6000']]))).toThrow(
    'STATEMENT_TIMEOUT_MS (6000) must be below QUERY_DEADLINE_MS (5000)',
  );
});

/** What a page would carry of this code. */
async function bundled(contents: string): Promise<string> {
  const stdin = { contents, resolveDir: root, loader: 'ts' } as const;
  const { outputFiles } = await build({ stdin, bundle: true, minify: true, write: false, format: 'esm' });
  return outputFiles[0]?.text.trim() ?? '';
}

test('a page that uses a bound carries that figure and no assertion', async () => {
  const fresh = `import { POSITION_FRESH_MS } from './src/limits.ts';\nconsole.log(POSITION_FRESH_MS);`;
  expect(await bundled(fresh)).toBe('console.log(9e4);');
  const asserting = BOUNDS.filter(({ file }) => file.startsWith('web/')).map(({ file }) => file);
  const pages = [...new Set(asserting)].map((file) => `import './src/${file}';`);
  expect((await bundled(pages.join('\n'))).includes('be below')).toBe(false);
});

test('the schema allows as many payment attempts as the service makes', () => {
  const schema = readFileSync(join(root, 'migrations/0001_orders.sql'), 'utf8');
  expect(schema).toContain(`attempt between 1 and ${MAX_PAYMENT_ATTEMPTS})`);
});
