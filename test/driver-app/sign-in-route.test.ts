import { expect, test } from 'vitest';
import { hashSecret, hasSecretForm, newId, newSecret, tokenOfAttempt } from '../../src/domain/ids.ts';
import {
  driverSignInRoute,
  MAX_EXCHANGES_AT_ONCE,
  MAX_EXCHANGES_OF_NETWORK,
} from '../../src/driver-app/sign-in-route.ts';
import { gate, startServer } from '../http/support.ts';

const code = newSecret('sign_in_code');

async function world() {
  const asked: string[][] = [];
  let held = Promise.resolve();
  const { url } = await startServer({
    routes: [
      driverSignInRoute({
        store: {
          async exchangeSignInCode(...hashes) {
            asked.push(hashes);
            await held;
            return hashes[0] === hashSecret(code) ? { driverId: newId() } : null;
          },
        },
      }),
    ] as never,
  });
  async function send(body: object) {
    const headers = { 'Content-Type': 'application/json' };
    const reply = await fetch(`${url}/driver/sign-in`, { method: 'POST', headers, body: JSON.stringify(body) });
    const { driver_token, error } = (await reply.json()) as { driver_token?: string; error?: { code: string } };
    return { status: reply.status, token: driver_token, error: error?.code };
  }
  /** Look-ups wait until the function that this returns is called. */
  const hold = () => {
    const { opened, open } = gate();
    held = opened;
    return open;
  };
  return { send, asked, hold };
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

test('a code works however many wrong ones its network sends, of which a few are looked up at once', async () => {
  const { send, asked, hold } = await world();
  const release = hold();
  const wrong = Array.from({ length: 60 }, () => send({ code: newSecret('sign_in_code'), attempt: 'one' }));
  await expect.poll(() => asked.length, { interval: 5 }).toBe(MAX_EXCHANGES_AT_ONCE);
  const good = send({ code, attempt: 'one' });
  await send({ code: 'sdl_short', attempt: 'one' });
  expect(asked).toHaveLength(MAX_EXCHANGES_AT_ONCE);
  release();
  expect(new Set((await Promise.all(wrong)).map(({ status }) => status))).toEqual(new Set([401]));
  expect((await good).status).toBe(200);
});

test('a network has a share of the line, so that no flood of codes takes the places of other requests', async () => {
  const { send, hold } = await world();
  const release = hold();
  const wrong = () => send({ code: newSecret('sign_in_code'), attempt: 'one' });
  const flood = Array.from({ length: MAX_EXCHANGES_OF_NETWORK + 1 }, wrong);
  expect(await Promise.race(flood)).toMatchObject({ status: 503, error: 'unavailable' });
  release();
  const statuses = (await Promise.all(flood)).map(({ status }) => status);
  expect(statuses.filter((status) => status !== 401)).toEqual([503]);
  expect((await send({ code, attempt: 'one' })).status).toBe(200);
});
