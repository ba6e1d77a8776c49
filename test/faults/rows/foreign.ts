import { isDeepStrictEqual } from 'node:util';
import { hashSecret, newId, newSecret, newTrackingToken } from '../../../src/domain/ids.ts';
import { orderBody } from '../../harness/service.ts';
import { driverToken } from '../../harness/stack-world.ts';
import { storeOf } from '../../harness/store.ts';
import type { Random } from '../../harness/world.ts';
import { anyOrder, want } from '../clients.ts';
import { ask, askUntilTaken, smallPhoto, TOO_MANY } from '../phones.ts';
import { any, inWorld, type Row, repeat } from '../row.ts';
import type { World } from '../world.ts';

const AT_ONCE = 16;
const ORDERS = 60;
const PHOTO_NAME = `${'0'.repeat(32)}.jpg`;

/** Every id and secret that names something of a store. */
type Named = {
  readonly orderId: string;
  readonly retailerId: string;
  readonly apiKey: string;
  /** Of an organization of which the store is the only one. */
  readonly organizationKey: string;
  readonly token: string;
  readonly trackingToken: string;
  readonly updatedMicros: string;
};
type Asked = {
  readonly method: string;
  readonly path: string;
  readonly key?: string;
  readonly body?: object | Buffer;
  readonly headers?: Readonly<Record<string, string>>;
};
type Route = (named: Named, intruder: Named, photo: Buffer) => Asked;

const get = (path: string, key?: string): Asked => ({ method: 'GET', path, ...(key === undefined ? {} : { key }) });
const post = (path: string, key: string, body: object, headers: Record<string, string> = {}): Asked => {
  return { method: 'POST', path, key, body, headers };
};
const step =
  (name: string, body: object = {}): Route =>
  ({ orderId }, { token }) =>
    post(`/driver/orders/${orderId}/${name}`, token, body);
const cancel =
  (headers: Record<string, string>): Route =>
  ({ orderId }, { apiKey }) =>
    post(`/orders/${orderId}/cancel`, apiKey, { reason: 'other' }, headers);
/** A page of a list from behind an order on. */
const listAfter = ({ orderId, updatedMicros }: Named): string =>
  `/orders?cursor=${Buffer.from(`${updatedMicros}:${orderId}`).toString('base64url')}`;

/**
 * Every route with an id or a secret, called by somebody it does not belong to, or with another kind of
 * secret.
 */
const ROUTES: readonly Route[] = [
  ({ orderId }, { apiKey }) => get(`/orders/${orderId}`, apiKey),
  ({ orderId }, { organizationKey }) => get(`/orders/${orderId}`, organizationKey),
  ({ retailerId }, { organizationKey }) => get(`/orders?retailer_id=${retailerId}`, organizationKey),
  (named, { organizationKey }) => get(listAfter(named), organizationKey),
  ({ orderId }, { organizationKey }) => post(`/orders/${orderId}/cancel`, organizationKey, { reason: 'other' }),
  ({ organizationKey }) => get('/driver/orders', organizationKey),
  cancel({}),
  cancel({ 'idempotency-key': 'used by the other store' }),
  (named, { apiKey }) => get(listAfter(named), apiKey),
  ({ retailerId }, { apiKey }) => post('/orders/create', apiKey, orderBody(retailerId)),
  ({ orderId }, { apiKey }) => get(`/orders/${orderId}/cancellation`, apiKey),
  ({ orderId }, { apiKey }) => get(`/orders/${orderId}/photo`, apiKey),
  ({ orderId }, { apiKey }) => post(`/orders/${orderId}/charge`, apiKey, {}),
  ({ retailerId }, { apiKey }) => post('/quotes', apiKey, orderBody(retailerId)),
  ({ token }) => get('/account', token),
  step('pick-up'),
  step('pick-up', { action_id: 'used' }),
  step('release', { reason: 'vehicle' }),
  step('undeliverable', { reason: 'refused' }),
  step('return'),
  ({ orderId }, { token }, photo) => post(`/driver/orders/${orderId}/deliver`, token, photo),
  ({ apiKey }) => get('/driver/orders', apiKey),
  ({ apiKey }) => ({ method: 'PUT', path: '/driver/duty', key: apiKey, body: { on_duty: false } }),
  ({ trackingToken }) => get('/driver/orders', trackingToken),
  ({ trackingToken }) => get('/orders', trackingToken),
  ({ token }) => get('/orders', token),
  ({ orderId, token }) => get(`/orders/${orderId}`, token),
  ({ orderId }) => get(`/orders/${orderId}`),
  ({ orderId }) => get(`/track/${orderId}/status`),
  ({ apiKey }) => get(`/track/${apiKey}`),
  ({ token }) => get(`/track/${token}/photo`),
];

export const foreignIds: Row = {
  name: 'foreign-ids',
  what: "a request for what is another's, compared with one for what is not there, on every route",
  count: 1_000,
  run: (count, random) =>
    inWorld({ stores: 4 }, async (world) => {
      const photo = await smallPhoto();
      const named = await makeOrders(world, random);
      await world.untilDone();
      const before = await everything(world);
      const problems: string[] = [];
      await repeat(count, AT_ONCE, async (i) => {
        const problem = await compare(world, random, ROUTES[i % ROUTES.length] as Route, named, photo);
        if (problem !== null) problems.push(problem);
      });
      const changed = changedIn(before, await everything(world));
      if (changed.length > 0) problems.push(`foreign: changed by those whose it is not: ${changed.join(', ')}`);
      return { count, orders: named.length, findings: problems };
    }),
};

/** Orders of every store in every status, with their ids and secrets. */
async function makeOrders(world: World, random: Random): Promise<Named[]> {
  const { sql } = world;
  await Promise.all(Array.from({ length: ORDERS }, () => want(world, anyOrder(world, random, true), random)));
  const stamp = { actionId: 'used', capturedAt: null };
  for (const { id, driver_id: driverId } of await sql`select id, driver_id from orders where driver_id is not null`) {
    const lot = Math.floor(random() * 5);
    if (lot === 0) await storeOf(sql, 'faults').cancelOrder(id, 'operator', 'other');
    if (lot > 1) await storeOf(sql, 'faults').pickUpOrder(id, driverId, stamp);
    if (lot === 3) await storeOf(sql, 'faults').deliverOrder(id, driverId, PHOTO_NAME, stamp);
    if (lot === 4) await storeOf(sql, 'faults').markUndeliverable(id, driverId, 'refused', stamp);
  }
  const keys = new Map(world.stores.map(({ id, apiKey }) => [id, apiKey]));
  const organizationKeys = new Map<string, string>();
  for (const { id } of world.stores) organizationKeys.set(id, await organizationOf(world, id));
  const rows = await sql`
    select id, retailer_id, driver_id, tracking_token, (extract(epoch from updated_at) * 1000000)::int8::text as micros
    from orders`;
  return rows.map((row) => ({
    orderId: row.id,
    retailerId: row.retailer_id,
    apiKey: keys.get(row.retailer_id) as string,
    organizationKey: organizationKeys.get(row.retailer_id) as string,
    token: row.driver_id ? driverToken(row.driver_id) : newSecret('driver_token'),
    trackingToken: row.tracking_token,
    updatedMicros: row.micros,
  }));
}

/** The key of a new organization that has this store. */
async function organizationOf({ sql }: World, retailerId: string): Promise<string> {
  const [id, key] = [newId(), newSecret('organization_key', 'test')];
  await storeOf(sql, 'faults').addOrganization(id, 'Chain');
  await storeOf(sql, 'faults').joinOrganization(id, retailerId);
  await storeOf(sql, 'faults').addOrganizationKey(id, { id: newId(), keyHash: hashSecret(key) });
  return key;
}

/** Names nothing. */
const nobodys = ({ updatedMicros }: Named): Named => ({
  orderId: newId(),
  retailerId: newId(),
  apiKey: newSecret('api_key'),
  organizationKey: newSecret('organization_key', 'test'),
  token: newSecret('driver_token'),
  trackingToken: newTrackingToken(),
  updatedMicros,
});

/** Another's object and a missing one must get the same reply, at every process. */
async function compare(
  world: World,
  random: Random,
  route: Route,
  all: readonly Named[],
  photo: Buffer,
): Promise<string | null> {
  const foreign = any(all, random);
  const others = all.filter((one) => one.retailerId !== foreign.retailerId && one.token !== foreign.token);
  const intruder = any(others, random);
  const asked = route(foreign, intruder, photo);
  const [one, other] = await Promise.all([
    send(world, random, asked),
    send(world, random, route(nobodys(foreign), intruder, photo)),
  ]);
  return isDeepStrictEqual(one, other)
    ? null
    : `foreign: ${asked.method} ${asked.path} got ${JSON.stringify(one)} and, for what is not there, ${JSON.stringify(other)}`;
}

/** The whole reply without the parts that always differ. */
async function send(
  { apis }: World,
  random: Random,
  { path, ...sent }: Asked,
): Promise<{ status: number; headers: [string, string][]; text: string }> {
  const url = `${any(apis, random).url()}${path}`;
  // Photos have a rate, which is waited for. Any other 429 is compared.
  const isPhoto = Buffer.isBuffer(sent.body);
  const { status, headers, text } = await (isPhoto ? askUntilTaken(url, sent, TOO_MANY) : ask(url, sent));
  const told = [...headers].filter(([name]) => name !== 'x-request-id' && name !== 'date');
  return { status, headers: told, text: text.replace(/"request_id":"[^"]*"/, '"request_id":""') };
}

/** Everything that a stranger could have changed, by its column. */
async function everything({ sql }: World): Promise<ReadonlyMap<string, unknown>> {
  const orders = await sql`select * from orders order by id`;
  const actions = await sql`select * from driver_actions order by driver_id, action_id`;
  const drivers = await sql`select id, on_duty, active from drivers order by id`;
  const columns = new Map<string, unknown>();
  for (const [table, rows] of Object.entries({ orders, actions, drivers })) {
    columns.set(`rows of ${table}`, rows.length);
    for (const name of Object.keys(rows[0] ?? {}))
      columns.set(
        `${name} of ${table}`,
        rows.map((row) => row[name]),
      );
  }
  return columns;
}

function changedIn(before: ReadonlyMap<string, unknown>, after: ReadonlyMap<string, unknown>): string[] {
  return [...before.keys()].filter((name) => !isDeepStrictEqual(before.get(name), after.get(name)));
}
