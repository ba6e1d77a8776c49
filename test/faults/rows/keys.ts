import { hashSecret, newId, newSecret } from '../../../src/domain/ids.ts';
import { storeOf } from '../../harness/store.ts';
import type { Random } from '../../harness/world.ts';
import { anyOrder, note, send } from '../clients.ts';
import { ask } from '../phones.ts';
import { any, inWorld, type Row, type RowResult } from '../row.ts';
import { later, type World } from '../world.ts';

/** Requests of the store in flight whenever its key is revoked. */
const RACING = 4;

type Store = World['stores'][number];

/**
 * Ends a store's key in one of two ways; resolves with the store's new state when the command has returned.
 */
async function shut({ sql }: World, { id, point, dropoff }: Store, random: Random): Promise<() => Promise<Store>> {
  const apiKey = newSecret('api_key');
  const key = { id: newId(), keyHash: hashSecret(apiKey) };
  if (random() < 0.5) {
    await storeOf(sql).rotateKey(id, key);
    return async () => ({ id, point, dropoff, apiKey });
  }
  await storeOf(sql).setRetailerStatus(id, 'suspended');
  return async () => {
    await storeOf(sql).setRetailerStatus(id, 'active');
    await storeOf(sql).rotateKey(id, key);
    return { id, point, dropoff, apiKey };
  };
}

/** Whether a body with `retailer_id` alone is refused for its key, asked of one API process. */
async function isRefusedKey(url: string, { id, apiKey }: Store): Promise<boolean> {
  const { status } = await ask(`${url}/orders/create`, { method: 'POST', key: apiKey, body: { retailer_id: id } });
  return status === 401;
}

/** Revokes one store's key while its requests are in flight; from then on every process must refuse it. */
async function shutWhileUsed(world: World, before: Store, random: Random): Promise<{ after: Store; found: string[] }> {
  const only = { ...world, stores: [before] };
  const order = () => {
    const one = anyOrder(only, random, false);
    note(world, one);
    return send(world, one, random);
  };
  const racing = Array.from({ length: RACING }, order);
  const heard = Promise.all(racing);
  await later(random() * 20);
  const reopen = await shut(world, before, random);
  const tests = await Promise.all(world.apis.map((api) => isRefusedKey(api.url(), before)));
  const late = await Promise.all(Array.from({ length: RACING }, order));
  const early = await heard;
  const odd = early.filter(({ status }) => status !== 201 && status !== 401);
  const created = late.filter(({ status }) => status !== 401);
  const after = await reopen();
  const found = [
    ...tests.flatMap((isRefused) => (isRefused ? [] : [`key: a test called the dead key of ${before.id} good`])),
    ...created.map(({ status }) => `key: an order with the dead key of ${before.id} was answered with ${status}`),
    ...odd.map(({ status }) => `key: an order while the key of ${before.id} died was answered with ${status}`),
  ];
  const works = await Promise.all(world.apis.map((api) => isRefusedKey(api.url(), after)));
  return {
    after,
    found: [...found, ...works.flatMap((no) => (no ? [`key: the new key of ${before.id} is refused`] : []))],
  };
}

export const suspensions: Row = {
  name: 'suspensions',
  what: `a store is suspended or its key rotated while ${RACING} of its orders are under way`,
  count: 1_000,
  run: (count, random) =>
    inWorld({}, async (world) => {
      const found: string[] = [];
      let left = count;
      // Each store's key is revoked repeatedly, and the stores run side by side.
      const stores = world.stores.map(async (store) => {
        for (let at = store; left-- > 0; ) {
          const { after, found: some } = await shutWhileUsed(world, at, random);
          found.push(...some);
          at = after;
        }
      });
      await Promise.all(stores);
      return { count, orders: count * RACING * 2, findings: found };
    }),
};

const GUESSERS = 32;
const PAUSE_MS = 20;

/** Guesses keys one at a time until stopped; counts the answers. */
async function guess(url: string, isOver: () => boolean, answers: Map<number, number>): Promise<void> {
  while (!isOver()) {
    const { status } = await ask(`${url}/orders/create`, { method: 'POST', key: newSecret('api_key'), body: {} });
    answers.set(status, (answers.get(status) ?? 0) + 1);
  }
}

async function knownAmongGuessers(world: World, count: number, random: Random): Promise<RowResult> {
  const found: string[] = [];
  const answers = new Map<number, number>();
  const store = any(world.stores, random);
  const only = { ...world, stores: [store] };
  let orders = 0;
  const order = async (): Promise<number> => {
    orders++;
    const one = anyOrder(only, random, true);
    note(world, one);
    const startedMs = performance.now();
    for (const api of world.apis) {
      const { status } = await send({ ...only, apis: [api] }, one, random);
      if (status !== 201) found.push(`keys: a known store was answered with ${status} while others guessed`);
    }
    return performance.now() - startedMs;
  };
  let spare = any(
    world.stores.filter(({ id }) => id !== store.id),
    random,
  );
  /** A new key is good at every process at once, whatever others send. */
  const renew = async (): Promise<void> => {
    const apiKey = newSecret('api_key');
    await storeOf(world.sql).rotateKey(spare.id, { id: newId(), keyHash: hashSecret(apiKey) });
    const before = spare;
    spare = { ...spare, apiKey };
    const [isRefused, wasRefused] = await Promise.all(
      [spare, before].map((key) => Promise.all(world.apis.map((api) => isRefusedKey(api.url(), key)))),
    );
    if (isRefused?.includes(true)) found.push('keys: a new key was refused while others guessed');
    if (wasRefused?.includes(false)) found.push('keys: a revoked key was good while others guessed');
  };
  const aloneMs = await order();
  let mostMs = 0;
  let isOver = false;
  const total = () => [...answers.values()].reduce((sum, n) => sum + n, 0);
  const guessers = world.apis.flatMap((api) =>
    Array.from({ length: GUESSERS / world.apis.length }, () => guess(api.url(), () => isOver, answers)),
  );
  while (total() < count) {
    mostMs = Math.max(mostMs, await order());
    await renew();
    await later(PAUSE_MS);
  }
  isOver = true;
  await Promise.all(guessers);
  const odd = [...answers].filter(([status]) => status !== 401);
  found.push(...odd.map(([status, n]) => `keys: ${n} guesses were answered with ${status}`));
  const waited = `unknown-keys: a known store's order on every API process took ${aloneMs.toFixed(0)} ms before, ${mostMs.toFixed(0)} ms at most while others guessed.`;
  return { count: total(), orders, findings: found, notes: [waited] };
}

export const unknownKeys: Row = {
  name: 'unknown-keys',
  what: 'an unknown key is sent from the address of a known store, while keys are made and revoked',
  count: 20_000,
  run: (count, random) => inWorld({}, (world) => knownAmongGuessers(world, Math.max(count, 1_000), random)),
};
