import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { newId } from '../../src/domain/ids.ts';
import { runCommand } from '../harness/command-line.ts';
import { startServiceHere } from '../harness/service-here.ts';
import { useService } from './world.ts';

const world = useService(startServiceHere);
const { addStore, ask, place, cli } = world;

type Report = Record<string, string>;
type Listed = { orders: { id: string; retailer_id: string }[] };

/** An organization with a key. */
async function chain(): Promise<{ id: string; key: string; keyId: string }> {
  const { organization_id: id = '' } = await cli('organization', 'add', 'Corner Markets');
  const { api_key: key = '', key_id: keyId = '' } = await cli('organization', 'create-key', id);
  expect(key).toMatch(/^sdk_test_org_[\w-]{32}$/);
  return { id, key, keyId };
}

test('a chain’s key reads the orders of its stores, and no other’s, and changes nothing', async () => {
  const [one, two, stranger] = await Promise.all([1, 2, 3].map(() => addStore()));
  if (!one || !two || !stranger) throw new Error('no stores');
  const { id, key } = await chain();
  for (const { retailerId } of [one, two]) await cli('organization', 'add-store', id, retailerId);
  const [first, second, foreign] = await Promise.all([one, two, stranger].map((store) => place(store)));
  const ids = [first, second, foreign].map((placed) => placed?.body.order.id ?? '');
  const list = (query = '') => ask<Listed>(`/orders${query}`, { key });
  const seen = async () => (await list()).body.orders.map((order) => [order.id, order.retailer_id]);
  await expect.poll(async () => (await seen()).length).toBe(2);
  expect(new Map((await seen()) as [string, string][])).toEqual(
    new Map([
      [ids[0], one.retailerId],
      [ids[1], two.retailerId],
    ]),
  );
  expect((await list(`?retailer_id=${two.retailerId}`)).body.orders.map((order) => order.id)).toEqual([ids[1]]);
  const [theirs, unknown] = [await list(`?retailer_id=${stranger.retailerId}`), await list(`?retailer_id=${newId()}`)];
  expect([theirs.status, unknown.status]).toEqual([400, 400]);
  const get = async (orderId = '') => await ask<{ order?: Report }>(`/orders/${orderId}`, { key });
  const read = (await get(ids[0])).body.order;
  expect(read).toMatchObject({ id: ids[0], retailer_id: one.retailerId });
  // Whoever has a tracking link can change the notes for the door.
  expect(JSON.stringify([read, (await list()).body])).not.toContain(first?.body.order.tracking_token);
  expect([(await get(ids[2])).status, (await get(newId())).status]).toEqual([404, 404]);
  const created = await place({ ...one, apiKey: key });
  const cancelled = await ask(`/orders/${ids[0]}/cancel`, { method: 'POST', key, body: { reason: 'other' } });
  const notOurs = `sdk_test_org_${'a'.repeat(32)}`;
  const account = async (by: string) => (await ask('/account', { key: by })).status;
  expect([created.status, cancelled.status]).toEqual([401, 403]);
  expect([await account(key), await account(notOurs)]).toEqual([403, 401]);
  expect(cancelled.body).toMatchObject({
    message: expect.stringContaining('has no right to this'),
    error: { code: 'forbidden' },
  });

  await cli('organization', 'remove-store', id, one.retailerId, '--yes');
  await expect.poll(async () => (await get(ids[0])).status).toBe(404);
  expect((await seen()).map(([orderId]) => orderId)).toEqual([ids[1]]);
});

test('a chain’s key that is rotated with an overlap goes on, and one that is revoked ends within a second', async () => {
  const { id, key, keyId } = await chain();
  const status = async (secret = '') => (await ask('/orders', { key: secret })).status;
  const next = await cli('organization', 'rotate-key', id, keyId, '--overlap', '24h');
  expect([await status(key), await status(next.api_key)]).toEqual([200, 200]);
  await cli('organization', 'revoke-key', id, keyId, '--yes');
  await expect.poll(() => status(key)).toBe(401);
  expect(await status(next.api_key)).toBe(200);
});

test('a store’s key that is rotated with an overlap makes orders until its end, and none after', async () => {
  const store = await addStore();
  const rotated = await cli('retailer', 'rotate-key', store.retailerId, '--overlap', '30m');
  expect(rotated.api_key).toMatch(/^sdk_test_[\w-]{32}$/);
  const both = async () => [
    (await place(store)).status,
    (await place({ ...store, apiKey: rotated.api_key ?? '' })).status,
  ];
  expect(await both()).toEqual([201, 201]);
  // No notice tells of the end: the commit of an order looks at it.
  await world.sql`
    alter table api_keys disable trigger api_keys_changed`;
  await world.sql`update api_keys set valid_until = now() where retailer_id = ${store.retailerId} and valid_until > now()`;
  expect(await both()).toEqual([401, 201]);
  await world.sql`alter table api_keys enable trigger api_keys_changed`;
});

test('a key of another mode is told so', async () => {
  const refused = await ask('/orders', { key: `sdk_live_${'a'.repeat(32)}` });
  expect([refused.status, refused.body]).toMatchObject([
    401,
    { message: expect.stringContaining('of a live service'), error: { code: 'unauthorized' } },
  ]);
});

/** Runs an import and takes what it prints, whatever its exit code. */
const imported = (file: string, ...options: string[]) => runCommand(world.env, 'retailer', 'import', file, ...options);

test('an import makes each good line a store with a key that works, reports each bad one, and repeats nothing', async () => {
  const { id, key } = await chain();
  const file = join(world.dataDir, 'stores.csv');
  const lines = [
    'name,address,contact_email,lat,lng,external_id',
    'North,"1 Main St, Denver, CO 80202",a@example.com,39.75,-104.99,7',
    'South,"2 Main St, Denver, CO 80202",b@example.com,,,8',
    'West,Nowhere,c@example.com,,,9',
    'East,"4 Main St, Denver, CO 80202",nobody,,,10',
    'North,"1 Main St, Denver, CO 80202",a@example.com,39.75,-104.99,7',
  ];
  writeFileSync(file, `\ufeff${lines.join('\r\n')}\r\n`);
  const run = async (...options: string[]) => {
    const { code, stdout } = await imported(file, '--organization', id, '--json', ...options);
    return { code, reports: JSON.parse(stdout) as Report[] };
  };
  const outcomes = (reports: Report[]) => reports.map(({ line, status, field = '' }) => [line, status, field]);
  const failures = [
    [4, 'failed', 'address'],
    [5, 'failed', 'contact_email'],
  ];
  const dry = await run('--dry-run');
  expect(outcomes(dry.reports)).toEqual([
    [2, 'would_create', ''],
    [3, 'would_create', ''],
    ...failures,
    [6, 'exists', ''],
  ]);
  const made = await run();
  expect(made.code).toBe(1);
  expect(outcomes(made.reports)).toEqual([[2, 'created', ''], [3, 'created', ''], ...failures, [6, 'exists', '']]);
  const [north, south] = made.reports;
  expect([north?.point, south?.point]).toEqual(['given', 'zip_centroid']);
  expect((await ask('/orders', { key: north?.api_key ?? '' })).status).toBe(200);
  const ofNorth = () => ask(`/orders?retailer_id=${north?.retailer_id}`, { key });
  await expect.poll(async () => (await ofNorth()).status).toBe(200);
  const shown = await cli('retailer', 'show', north?.retailer_id ?? '');
  expect(shown).toMatchObject({ name: 'North', external_id: '7', organization_id: id });
  const again = await run();
  expect(outcomes(again.reports).slice(0, 2)).toEqual([
    [2, 'exists', ''],
    [3, 'exists', ''],
  ]);
  expect(again.reports[0]?.retailer_id).toBe(north?.retailer_id);
  const csv = await imported(file, '--organization', id);
  expect(csv.stdout.split('\n')[0]).toBe('line,status,retailer_id,api_key,external_id,point,field,message');
  expect(csv.stdout.split('\n')).toHaveLength(lines.length + 1);
  writeFileSync(file, `${lines[0]}\nFar,"5 Main St, Denver, CO 80202",e@example.com,,,11`);
  const away = await runCommand({ ...world.env, GEOCODER_URL: 'http://127.0.0.1:1' }, 'retailer', 'import', file);
  expect(away.stdout).toContain('2,failed,,,,,address,"was not looked up, as the geocoder does not answer');
});
