import { expect, test } from 'vitest';
import { hashSecret } from '../../src/domain/ids.ts';
import { KnownSecrets } from '../../src/http/known-secrets.ts';
import type { SecretRow } from '../../src/store/accounts/secrets.ts';
import { gate } from './support.ts';

const hashes = Array.from({ length: 10 }, (_, n) => hashSecret(`secret ${n}`));
const idOf = (n: number) => `00000000-0000-0000-0000-00000000001${n}`;
const row = (n: number, isRevoked = false): SecretRow => ({ id: idOf(n), hash: hashes[n] ?? '', isRevoked });

/** A table that a test changes, and notices that are all heard unless it says otherwise. */
function world(rows: SecretRow[], options: { most?: number; part?: number; waitMs?: number } = {}) {
  const state = { rows, isCaughtUp: true, before: (): Promise<void> => Promise.resolve() };
  const parts: number[] = [];
  const secrets = new KnownSecrets(
    {
      async list(afterId, limit) {
        const some = state.rows.filter(({ id, isRevoked }) => !isRevoked && id > afterId).slice(0, limit);
        parts.push(some.length);
        await state.before();
        return some;
      },
      async listOf(holderIds) {
        const some = state.rows.filter(({ id }) => holderIds.includes(id));
        await state.before();
        return some;
      },
    },
    { caughtUp: async () => state.isCaughtUp },
    { most: options.most ?? 100, part: options.part ?? 100, waitMs: options.waitMs ?? 10 },
  );
  return { state, secrets, parts };
}
const held = (secrets: KnownSecrets) => hashes.flatMap((hash, n) => (secrets.has(hash) ? [n] : []));

test('holds what the table holds, read in parts', async () => {
  const { secrets, parts } = world(
    [0, 1, 2, 3, 4].map((n) => row(n)),
    { part: 2 },
  );
  expect(await secrets.isCurrent()).toBe(false);
  await secrets.readAll();
  expect([held(secrets), parts, await secrets.isCurrent()]).toEqual([[0, 1, 2, 3, 4], [2, 2, 1], true]);
});

test('is not current while the latest notices are not heard', async () => {
  const { secrets, state } = world([]);
  await secrets.readAll();
  state.isCaughtUp = false;
  expect(await secrets.isCurrent()).toBe(false);
});

test('is not current from the notice of a holder until they are read', async () => {
  const { secrets, state } = world([]);
  await secrets.readAll();
  state.rows = [row(1)];
  secrets.noticed([idOf(1)]);
  expect(await secrets.isCurrent()).toBe(false);
  await secrets.read([idOf(1)]);
  expect([held(secrets), await secrets.isCurrent()]).toEqual([[1], true]);
});

test('becomes current for those who wait meanwhile', async () => {
  const { secrets, state } = world([], { waitMs: 60_000 });
  await secrets.readAll();
  state.rows = [row(1)];
  secrets.noticed([idOf(1)]);
  const asked = [secrets.isCurrent(), secrets.isCurrent()];
  await secrets.read([idOf(1)]);
  expect(await Promise.all(asked)).toEqual([true, true]);
});

test('stays so where another notice of the holder came while they were read', async () => {
  const { secrets, state } = world([row(1)]);
  await secrets.readAll();
  const reading = gate();
  state.before = () => reading.opened;
  secrets.noticed([idOf(1)]);
  const first = secrets.read([idOf(1)]);
  secrets.noticed([idOf(1)]);
  reading.open();
  await first;
  expect(await secrets.isCurrent()).toBe(false);
  await secrets.read([idOf(1)]);
  expect(await secrets.isCurrent()).toBe(true);
});

test('drops a revoked secret, and says which', async () => {
  const { secrets, state } = world([row(1), row(2)]);
  await secrets.readAll();
  state.rows = [row(1, true), row(2)];
  expect(await secrets.read([idOf(1), idOf(2)])).toEqual([hashes[1]]);
  expect(held(secrets)).toEqual([2]);
});

test('keeps what a notice added while everything was read', async () => {
  const { secrets, state } = world([row(1)]);
  const reading = gate();
  state.before = () => reading.opened;
  const all = secrets.readAll();
  state.before = () => Promise.resolve();
  state.rows = [row(1), row(2)];
  secrets.noticed([idOf(2)]);
  await secrets.read([idOf(2)]);
  reading.open();
  await all;
  expect([held(secrets), await secrets.isCurrent()]).toEqual([[1, 2], true]);
});

test('after an interruption it is current once everything was read anew, and a reading from before does not count', async () => {
  const { secrets, state } = world([row(1)]);
  await secrets.readAll();
  const reading = gate();
  state.before = () => reading.opened;
  const stale = secrets.readAll();
  state.before = () => Promise.resolve();
  secrets.interrupted();
  state.rows = [row(2)];
  expect(await secrets.isCurrent()).toBe(false);
  await secrets.readAll();
  reading.open();
  await stale;
  expect([held(secrets), await secrets.isCurrent()]).toEqual([[2], true]);
});

test('holds at most so many, and with more of them is never current', async () => {
  const { secrets } = world(
    [0, 1, 2, 3, 4].map((n) => row(n)),
    { most: 3, part: 2 },
  );
  await secrets.readAll();
  secrets.add(hashes[7] ?? '');
  expect([held(secrets).length, await secrets.isCurrent()]).toEqual([3, false]);
});
