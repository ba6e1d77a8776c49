/**
 * The service that a team would write without this one: fastify with its schema validation, PostGIS for the
 * nearest free driver, one transaction and one BullMQ job per order. It runs in a process of its own, with
 * `DATABASE_URL` and `REDIS_URL`.
 */
import { createHash } from 'node:crypto';
import { availableParallelism } from 'node:os';
import { Queue } from 'bullmq';
import Fastify from 'fastify';
import { Redis } from 'ioredis';
import postgres, { type Sql } from 'postgres';
import { newOrder, type Place, type PlainOrderBody, type PlainTier, placeInTransaction } from './plain-orders.ts';
import { placeInOneStatement } from './plain-orders-once.ts';
import { createOrderSchema } from './plain-schemas.ts';

const KEY_CACHE_MS = 10_000;
const MAX_BODY_BYTES = 64 * 1024;

/** Twice the cores and one for the disk, as more connections were no quicker. */
const POOL = 2 * availableParallelism() + 1;

const sql = postgres(process.env.DATABASE_URL as string, { max: POOL });
const redis = new Redis(process.env.REDIS_URL as string, { maxRetriesPerRequest: 3 });
const queue = new Queue('orders', {
  connection: redis,
  defaultJobOptions: {
    attempts: 8,
    backoff: { type: 'exponential', delay: 1_000 },
    removeOnComplete: true,
    removeOnFail: 10_000,
  },
});
const place = process.env.ONE_STATEMENT === '1' ? placeInOneStatement : placeInTransaction;
const tiers = await readTiers(sql);
const storeOf = createKeyCache(sql);

const app = Fastify({ logger: { level: 'warn' }, bodyLimit: MAX_BODY_BYTES, keepAliveTimeout: 72_000 });

app.post<{ Body: PlainOrderBody }>('/orders/create', { schema: createOrderSchema }, async (request, reply) => {
  const { body, headers } = request;
  const store = await storeOf(/^Bearer (\S+)$/.exec(headers.authorization ?? '')?.[1]);
  if (store === undefined || store.id !== body.retailer_id) {
    return reply.code(401).send({ success: false, message: 'The API key is missing or not good for this store.' });
  }
  const order = await place(sql, newOrder(body, tiers.get(body.delivery_tier) as PlainTier, store.location));
  await queue.add('created', { orderId: order.id });
  reply.code(201);
  return { success: true, message: 'The order was created.', order };
});

process.once('SIGTERM', () => {
  void app
    .close()
    .then(() => queue.close())
    .then(() => sql.end({ timeout: 5 }))
    .finally(() => process.exit(0));
});
const address = await app.listen({ host: '127.0.0.1', port: Number(process.env.PORT ?? 0) });
console.log(`ready at ${address}`);

async function readTiers(db: Sql): Promise<Map<string, PlainTier>> {
  const rows = await db<PlainTier[]>`
    select id, fee_cents as "feeCents", payout_cents as "payoutCents", radius_meters as "radiusMeters",
      max_wait_seconds as "maxWaitSeconds" from tiers`;
  return new Map(rows.map((tier) => [tier.id, tier]));
}

type Store = { readonly id: string; readonly location: Place };

/** Looks each key up once in a while; the store's point is the pickup of its orders. */
function createKeyCache(db: Sql): (key: string | undefined) => Promise<Store | undefined> {
  const kept = new Map<string, { readonly store: Promise<Store | undefined>; readonly untilMs: number }>();
  return async (key) => {
    if (key === undefined) return undefined;
    const known = kept.get(key);
    if (known && known.untilMs > Date.now()) return known.store;
    const store = lookUp(db, key);
    kept.set(key, { store, untilMs: Date.now() + KEY_CACHE_MS });
    store.catch(() => kept.delete(key));
    return store;
  };
}

async function lookUp(db: Sql, key: string): Promise<Store | undefined> {
  const [row] = await db`
    select r.id, st_y(r.location::geometry) as lat, st_x(r.location::geometry) as lng
    from api_keys k join retailers r on r.id = k.retailer_id
    where k.key_hash = ${createHash('sha256').update(key).digest('hex')} and k.revoked_at is null
      and r.status = 'active'`;
  return row && { id: row.id, location: { lat: row.lat, lng: row.lng } };
}
