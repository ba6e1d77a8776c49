import { beforeEach, describe, expect, test } from 'vitest';
import { ServiceError } from '../../src/domain/errors.ts';
import { hashSecret, hasSecretForm, keyModeOf, newSecret } from '../../src/domain/ids.ts';
import { createAuthenticator, createCredentials } from '../../src/http/credentials.ts';
import { asAvailable } from '../../src/http/outcomes.ts';
import type { RequestHead } from '../../src/transport/route.ts';

/** What is asked of the tables is known a few turns later. */
const untilAsked = () => new Promise((resolve) => setImmediate(resolve));

/** A look-up that answers when it is told to, tables that hold every secret, and a clock that stands still. */
function world(
  options: {
    maxKept?: number;
    holds?: (hash: string) => boolean;
    isCurrent?: () => boolean;
    heardUpToMs?: (sinceMs: number, nowMs: number) => number;
  } = {},
) {
  const { heardUpToMs } = options;
  const asked: { hash: string; answer: (holder: string | null) => void; fail: (error: Error) => void }[] = [];
  const added: string[] = [];
  let nowMs = 0;
  const credentials = createCredentials<string>(
    (hash) => new Promise((answer, fail) => void asked.push({ hash, answer, fail })),
    {
      has: options.holds ?? (() => true),
      isCurrent: async () => (options.isCurrent ?? (() => true))(),
      add: (hash) => void added.push(hash),
    },
    {
      keepMs: 1_000,
      rememberMs: 10_000,
      maxKept: options.maxKept ?? 100,
      maxUnknownPerSecond: 3,
      now: () => nowMs,
      ...(heardUpToMs && {
        heard: {
          upToMs: (sinceMs) => heardUpToMs(sinceMs, nowMs),
          rereadMs: 60_000,
          isTold: (holder) => holder !== 'ending',
        },
      }),
    },
  );
  const find = async (hash: string, holder: string | null = `holder of ${hash}`) => {
    const before = asked.length;
    const found = credentials.find(hash);
    // Whoever awaits it hears of a refusal; meanwhile nobody does.
    found.catch(() => undefined);
    await untilAsked();
    if (asked.length > before) asked.at(-1)?.answer(holder);
    return found;
  };
  return {
    asked,
    forget: credentials.forget,
    added,
    credentials,
    find,
    count: () => asked.length,
    at(ms: number) {
      nowMs = ms;
    },
  };
}

test('a holder is looked up once a minute while all notices are heard', async () => {
  const { find, count, at } = world({ heardUpToMs: (_sinceMs, nowMs) => nowMs - 250 });
  for (let ms = 0; ms <= 60_000; ms += 400) {
    at(ms);
    expect(await find('a')).toBe('holder of a');
  }
  expect(count()).toBe(1);
  at(60_600);
  expect(await find('a')).toBe('holder of a');
  expect(count()).toBe(2);
});

test('notices that are not heard, or that do not tell, put no look-up off', async () => {
  const missed = world({ heardUpToMs: (sinceMs) => (sinceMs >= 2_000 ? Number.POSITIVE_INFINITY : 0) });
  for (const [ms, lookUps] of [
    [0, 1],
    [1_000, 2],
    [2_000, 3],
    [30_000, 3],
  ] as const) {
    missed.at(ms);
    await missed.find('a');
    expect(missed.count(), `after ${ms} ms`).toBe(lookUps);
  }
  const ending = world({ heardUpToMs: (_sinceMs, nowMs) => nowMs });
  await ending.find('b', 'ending');
  ending.at(1_000);
  await ending.find('b', 'ending');
  expect(ending.count()).toBe(2);
});

test('what is told of a holder counts before a look-up that is kept by notices', async () => {
  const { find, count, at, forget } = world({ heardUpToMs: (_sinceMs, nowMs) => nowMs });
  await find('a');
  at(10_000);
  forget((holder) => holder === 'holder of a');
  expect(await find('a', null)).toBeNull();
  expect(count()).toBe(2);
});

test('a holder is looked up once in half a moment, however often it is asked for', async () => {
  const { find, count, at } = world();
  for (const [ms, lookUps] of [
    [0, 1],
    [499, 1],
    [500, 2],
    [999, 2],
    [1_000, 3],
    [2_500, 4],
  ] as const) {
    at(ms);
    for (let again = 0; again < 3; again++) expect(await find('a')).toBe('holder of a');
    expect(count(), `after ${ms} ms`).toBe(lookUps);
  }
});

test('a client whose holder is looked up anew in time does not wait for the answer', async () => {
  const { find, credentials, asked, at } = world();
  await find('a');
  at(600);
  expect(await credentials.find('a')).toBe('holder of a');
  expect(asked).toHaveLength(2);
  at(999);
  expect(await credentials.find('a')).toBe('holder of a');
  asked[1]?.fail(new Error('no database'));
  await untilAsked();
  expect(await credentials.find('a')).toBe('holder of a');
});

test('a holder that the look-up in between no longer finds is gone from then on', async () => {
  const { find, asked, credentials, at } = world();
  await find('a');
  at(600);
  await credentials.find('a');
  asked[1]?.answer(null);
  await untilAsked();
  expect(await find('a', null)).toBeNull();
});

test('a revoked secret stops working when its moment is over, and stays so', async () => {
  const { find, at } = world();
  await find('a');
  at(1_000);
  expect(await find('a', null)).toBeNull();
  expect(await find('a', null)).toBeNull();
});

test('knows at once whose secret was good some moments ago, and looks it up anew', async () => {
  const { find, credentials, asked, at } = world();
  expect(credentials.remembered('a')).toBeNull();
  await find('a');
  expect(credentials.remembered('a')).not.toBeNull();
  expect(asked).toHaveLength(1);
  at(9_000);
  expect(credentials.remembered('a')).not.toBeNull();
  expect(asked).toHaveLength(2);
  at(12_000);
  expect(credentials.remembered('a')).toBeNull();
  asked[1]?.answer(null);
  await untilAsked();
  at(12_001);
  expect(credentials.remembered('a')).toBeNull();
});

test('that nobody holds a secret is never remembered, so it works as soon as somebody does', async () => {
  const { find, count } = world();
  expect(await find('a', null)).toBeNull();
  expect(await find('a')).toBe('holder of a');
  expect(count()).toBe(2);
});

test('what is found is as old as the moment it was asked for, however long the answer took', async () => {
  const { credentials, asked, count, at } = world();
  const slow = credentials.find('a');
  await untilAsked();
  at(900);
  asked[0]?.answer('holder');
  expect(await slow).toBe('holder');
  at(1_000);
  void credentials.find('a');
  expect(count()).toBe(2);
});

test('look-ups of one secret at the same time are one; others have their own', async () => {
  const { credentials, asked } = world();
  const finds = [credentials.find('a'), credentials.find('a'), credentials.find('b'), credentials.find('a')];
  await untilAsked();
  expect(asked.map(({ hash }) => hash)).toEqual(['a', 'b']);
  for (const { hash, answer } of asked) answer(`holder of ${hash}`);
  expect(await Promise.all(finds)).toEqual(['holder of a', 'holder of a', 'holder of b', 'holder of a']);
});

test('a look-up that takes longer than an answer is kept is joined by nobody who asks later', async () => {
  const { credentials, asked, at } = world();
  const early = credentials.find('a');
  await untilAsked();
  at(1_000);
  const late = [credentials.find('a'), credentials.find('a')];
  await untilAsked();
  expect(asked.length).toBe(2);
  asked[1]?.answer(null);
  expect(await Promise.all(late)).toEqual([null, null]);
  asked[0]?.answer('holder of a');
  expect(await early).toBe('holder of a');
  expect(await Promise.race([credentials.find('a'), untilAsked()])).toBeUndefined();
});

test('a look-up that failed fails those who shared it, is not remembered, and the next asks again', async () => {
  const { credentials, asked, find, count } = world();
  const finds = [credentials.find('a'), credentials.find('a')].map((each) =>
    expect(each).rejects.toThrow('no database'),
  );
  await untilAsked();
  asked[0]?.fail(new Error('no database'));
  await Promise.all(finds);
  expect(await find('a')).toBe('holder of a');
  expect(count()).toBe(2);
});

test('at most so many are remembered; the one read longest ago goes first', async () => {
  const { find, asked, at } = world({ maxKept: 3 });
  for (const hash of ['a', 'b', 'c']) await find(hash);
  at(1_000);
  await find('a');
  at(1_001);
  await find('d');
  const before = asked.length;
  await find('a');
  await find('d');
  expect(asked.length).toBe(before);
  await find('b');
  expect(asked.length).toBe(before + 1);
});

test('reading one secret again and again leaves the others remembered', async () => {
  const { find, asked, at, count } = world({ maxKept: 3 });
  for (const hash of ['a', 'b', 'c']) await find(hash);
  at(500);
  await find('c');
  at(1_000);
  for (let again = 1; again <= 10; again++) {
    at(again * 1_000);
    await find('c');
  }
  at(10_001);
  for (const hash of ['x', 'y', 'c']) await find(hash);
  const before = count();
  for (const hash of ['x', 'y', 'c']) await find(hash);
  expect(asked.length).toBe(before);
});

describe('a secret that no table holds', () => {
  test('is nobody’s without a look-up, however often it is sent', async () => {
    const { find, count } = world({ holds: () => false });
    for (let i = 0; i < 1_000; i++) expect(await find(`guess ${i}`)).toBeNull();
    for (let i = 0; i < 1_000; i++) expect(await find('guess')).toBeNull();
    expect(count()).toBe(0);
  });

  test('does not keep one that they hold from being looked up', async () => {
    const { find } = world({ holds: (hash) => hash === 'own' });
    for (let i = 0; i < 1_000; i++) await find(`guess ${i}`);
    expect(await find('own')).toBe('holder of own');
  });

  test('is looked up where it was added while the latest notices were awaited', async () => {
    const held = new Set<string>();
    const isCurrent = () => {
      held.add('new');
      return true;
    };
    const { find } = world({ holds: (hash) => held.has(hash), isCurrent });
    expect(await find('new')).toBe('holder of new');
  });
});

describe('while it is not known which secrets the tables hold', () => {
  const refused = { code: 'unavailable' };

  test('an unknown secret is looked up, and held where it is good', async () => {
    const { find, added } = world({ holds: () => false, isCurrent: () => false });
    expect(await find('new')).toBe('holder of new');
    expect(await find('guess', null)).toBeNull();
    expect(added).toEqual(['new']);
  });

  test('so many are looked up a second, and others are told to try again; nobody is told that theirs is wrong', async () => {
    const { find, count } = world({ holds: () => false, isCurrent: () => false });
    for (const guess of ['x', 'y', 'z']) expect(await find(guess, null)).toBeNull();
    for (let i = 0; i < 100; i++) await expect(find(`good ${i}`)).rejects.toMatchObject(refused);
    expect(count()).toBe(3);
  });

  test('one that was found before, or that the tables held, goes on', async () => {
    const { find, at } = world({ holds: (hash) => hash === 'held', isCurrent: () => false });
    await find('found');
    for (const guess of ['x', 'y', 'z', 'a']) await find(guess, null).catch(() => null);
    at(1_000);
    expect(await find('found')).toBe('holder of found');
    expect(await find('held')).toBe('holder of held');
  });
});

test('a revoked secret is forgotten at once where a notice says so', async () => {
  const { find, credentials, count } = world();
  await find('a');
  credentials.drop('a');
  expect(await find('a', null)).toBeNull();
  expect(count()).toBe(2);
});

test('a suspended store’s key is looked up each time, and heard again as soon as the store is active', async () => {
  const { find, at } = world();
  await find('own');
  at(1_000);
  for (let again = 0; again < 10; again++) expect(await find('own', null)).toBeNull();
  expect(await find('own')).toBe('holder of own');
});

describe('a holder of whom something changed', () => {
  test('is looked up again at once, and others are not', async () => {
    const { find, forget, count } = world();
    await find('a');
    await find('b');
    forget((holder) => holder === 'holder of a');
    expect(await find('a', 'suspended a')).toBe('suspended a');
    expect(await find('b')).toBe('holder of b');
    expect(count()).toBe(3);
    expect(await find('a')).toBe('suspended a');
    expect(count()).toBe(3);
  });

  test('is nobody from then on where the look-up finds nobody', async () => {
    const { find, forget } = world();
    await find('a');
    forget(() => true);
    expect(await find('a', null)).toBeNull();
  });

  test('is not kept as a look-up that began before found them', async () => {
    const { credentials, forget, asked, count } = world();
    const before = credentials.find('a');
    await untilAsked();
    forget(() => true);
    const after = credentials.find('a');
    await untilAsked();
    expect(count()).toBe(2);
    asked[1]?.answer('a as changed');
    asked[0]?.answer('a as before');
    expect([await before, await after]).toEqual(['a as before', 'a as changed']);
    expect(await credentials.find('a')).toBe('a as changed');
    expect(count()).toBe(2);
  });
});

describe('authentication by a bearer secret', () => {
  const secret = newSecret('api_key');
  let asked: string[];
  let answer: () => Promise<string | null>;
  const { authenticate } = createAuthenticator('api_key', {
    find(hash: string) {
      asked.push(hash);
      return answer();
    },
    remembered: () => null,
  });
  const head = (authorization?: string) =>
    ({
      header: (name: string) => (name === 'authorization' ? authorization : undefined),
    }) as RequestHead;
  const codeOf = (work: Promise<unknown>) =>
    work.then(
      () => 'passed',
      (error: unknown) => (error instanceof ServiceError ? error.code : 'another error'),
    );
  beforeEach(() => {
    asked = [];
    answer = async () => 'store';
  });

  test('finds the holder by the secret’s hash; the secret itself goes nowhere', async () => {
    expect(await authenticate(head(`Bearer ${secret}`))).toBe('store');
    expect(asked).toEqual([hashSecret(secret)]);
  });

  test.each<[string, string | undefined]>([
    ['no header', undefined],
    ['another scheme', `Basic ${secret}`],
    ['no secret', 'Bearer '],
    ['a driver’s token', `Bearer ${newSecret('driver_token')}`],
    ['what is no secret of ours', 'Bearer hello'],
    ['a secret and more', `Bearer ${secret} ${secret}`],
  ])('refuses %s without asking the database', async (_what, authorization) => {
    expect(await codeOf(authenticate(head(authorization)))).toBe('unauthorized');
    expect(asked).toEqual([]);
  });

  test('refuses a secret that nobody holds', async () => {
    answer = async () => null;
    expect(await codeOf(authenticate(head(`Bearer ${secret}`)))).toBe('unauthorized');
  });

  test('says unavailable, and never unauthorized, where the database can’t be asked', async () => {
    answer = () => Promise.reject(Object.assign(new Error(`no database for ${secret}`), { code: 'CONNECTION_CLOSED' }));
    const refused = authenticate(head(`Bearer ${secret}`));
    expect(await codeOf(refused)).toBe('unavailable');
    await expect(refused).rejects.not.toThrow(secret);
  });

  test.each<['test' | 'live', string]>([
    ['live', 'The API key is of a sandbox (sdk_test_…), and this is no sandbox.'],
    ['test', 'The API key is of a live service (sdk_live_…), and this is a sandbox.'],
  ])('of a %s service tells a key of the other mode so, by its form alone', async (mode, message) => {
    const other = mode === 'live' ? 'test' : 'live';
    const asMode = createAuthenticator('api_key', { find: async (hash) => hash, remembered: () => null }, mode);
    const ask = (key: string) => asMode.authenticate(head(`Bearer ${key}`));
    await expect(ask(newSecret('api_key', other))).rejects.toMatchObject({ code: 'unauthorized', message });
    for (const key of [newSecret('api_key', mode), newSecret('api_key')]) expect(await ask(key)).toBe(hashSecret(key));
  });

  test('tells an organization’s key that it only reads, by its form alone', async () => {
    const refused = authenticate(head(`Bearer ${newSecret('organization_key', 'test')}`));
    await expect(refused).rejects.toMatchObject({
      code: 'unauthorized',
      message: expect.stringContaining('only reads orders and events'),
    });
    expect(asked).toEqual([]);
  });

  test('takes a key that begins like a mode by chance for what it is', () => {
    const early = `sdk_${'test_'.padEnd(32, 'a')}`;
    expect([keyModeOf(early), hasSecretForm('api_key', early)]).toEqual([null, true]);
    expect(keyModeOf(newSecret('organization_key', 'live'))).toBe('live');
  });

  test('lets pass what is available', async () => {
    expect(await asAvailable(Promise.resolve(7))).toBe(7);
  });
});
