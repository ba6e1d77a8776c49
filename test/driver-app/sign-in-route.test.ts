import { expect, test } from 'vitest';
import { hashSecret, hasSecretForm, newId, newSecret, tokenOfAttempt } from '../../src/domain/ids.ts';
import { driverSignInRoute } from '../../src/driver-app/sign-in-route.ts';
import { MAX_NETWORKS_COUNTED, WRONG_LINKS_PER_MINUTE, WrongLinks } from '../../src/driver-app/wrong-links.ts';
import { gate, startServer } from '../http/support.ts';

const code = newSecret('sign_in_code');

async function world() {
  let nowMs = 1_000;
  const asked: string[][] = [];
  let isDown = false;
  let held = Promise.resolve();
  const { url } = await startServer({
    trustProxy: true,
    routes: [
      driverSignInRoute({
        store: {
          async exchangeSignInCode(...hashes) {
            asked.push(hashes);
            await held;
            if (isDown) throw new Error('the database is away');
            return hashes[0] === hashSecret(code) ? { driverId: newId() } : null;
          },
        },
        now: () => nowMs,
      }),
    ] as never,
  });
  async function send(body: object, from = '203.0.113.7') {
    const headers = { 'Content-Type': 'application/json', 'X-Forwarded-For': from };
    const reply = await fetch(`${url}/driver/sign-in`, { method: 'POST', headers, body: JSON.stringify(body) });
    const { driver_token, error } = (await reply.json()) as { driver_token?: string; error?: { code: string } };
    return { status: reply.status, token: driver_token, error: error?.code, wait: reply.headers.get('retry-after') };
  }
  const pass = (ms: number) => {
    nowMs += ms;
  };
  const fail = (isSo: boolean) => {
    isDown = isSo;
  };
  /** Look-ups wait until the function that this returns is called. */
  const hold = () => {
    const { opened, open } = gate();
    held = opened;
    return open;
  };
  return { send, asked, pass, fail, hold };
}

test('a code becomes a driver’s token, the same one for the same attempt and another for another', async () => {
  const { send, asked } = await world();
  const first = await send({ code, attempt: 'one' });
  expect(first.status).toBe(200);
  expect(hasSecretForm('driver_token', first.token ?? '')).toBe(true);
  expect(asked[0]).toEqual([hashSecret(code), hashSecret(first.token ?? '')]);
  expect((await send({ code, attempt: 'one' })).token).toBe(first.token);
  expect(tokenOfAttempt(code, 'two')).not.toBe(first.token);
  expect(tokenOfAttempt(newSecret('sign_in_code'), 'one')).not.toBe(first.token);
});

test('a code that is none is 401 without a look-up where its form says so', async () => {
  const { send, asked } = await world();
  expect(await send({ code: 'sdl_short', attempt: 'one' })).toMatchObject({ status: 401, error: 'unauthorized' });
  expect(asked).toEqual([]);
  const unknown = newSecret('sign_in_code');
  expect(await send({ code: unknown, attempt: 'one' })).toMatchObject({ status: 401, error: 'unauthorized' });
  for (const bad of [{}, { code }, { code, attempt: '' }, { code, attempt: 'a b' }, { code: 5, attempt: 'one' }]) {
    expect(await send(bad)).toMatchObject({ status: 400, error: 'invalid_request' });
  }
});

test('a network that guesses waits for the rest of the minute, and others do not', async () => {
  const { send, asked, pass } = await world();
  const guess = () => send({ code: newSecret('sign_in_code'), attempt: 'one' });
  for (let sent = 0; sent < WRONG_LINKS_PER_MINUTE; sent++) expect((await guess()).status).toBe(401);
  pass(20_000);
  expect(await guess()).toMatchObject({ status: 429, error: 'rate_limited', wait: '40' });
  expect(await send({ code, attempt: 'one' })).toMatchObject({ status: 429 });
  expect(asked).toHaveLength(WRONG_LINKS_PER_MINUTE);
  expect(await send({ code, attempt: 'one' }, '198.51.100.1')).toMatchObject({ status: 200 });
  pass(40_000);
  expect(await send({ code, attempt: 'one' })).toMatchObject({ status: 200 });
});

test('a network that sends many at once has no more looked up than one after the other', async () => {
  const { send, asked, hold } = await world();
  const release = hold();
  const statuses: number[] = [];
  const count = 3 * WRONG_LINKS_PER_MINUTE;
  const all = Array.from({ length: count }, async () => {
    statuses.push((await send({ code: newSecret('sign_in_code'), attempt: 'one' })).status);
  });
  // Each is being looked up, or was refused.
  await expect.poll(() => asked.length + statuses.length, { interval: 5 }).toBe(count);
  release();
  await Promise.all(all);
  const of = (status: number) => statuses.filter((each) => each === status).length;
  expect([of(401), of(429)]).toEqual([WRONG_LINKS_PER_MINUTE, 2 * WRONG_LINKS_PER_MINUTE]);
  expect(asked).toHaveLength(WRONG_LINKS_PER_MINUTE);
});

test('links that are good, or cannot be looked up, do not count', async () => {
  const { send, fail } = await world();
  for (let sent = 0; sent < 2 * WRONG_LINKS_PER_MINUTE; sent++) {
    expect((await send({ code, attempt: 'one' })).status).toBe(200);
  }
  fail(true);
  for (let sent = 0; sent < 2 * WRONG_LINKS_PER_MINUTE; sent++) {
    expect((await send({ code, attempt: 'one' })).status).not.toBe(429);
  }
  fail(false);
  expect((await send({ code, attempt: 'one' })).status).toBe(200);
});

test('of very many networks only so many are counted one by one', () => {
  const wrong = new WrongLinks(() => 0);
  for (let n = 0; n < MAX_NETWORKS_COUNTED; n++) wrong.add(`10.${n >> 8}.${n & 255}.1`);
  for (let n = 0; n < WRONG_LINKS_PER_MINUTE; n++) wrong.add(`192.0.2.${n}`);
  expect(wrong.waitOf('198.51.100.1')).toBeGreaterThan(0);
  expect(wrong.waitOf('10.0.1.1')).toBe(0);
});
