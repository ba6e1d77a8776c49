import type { Sql } from 'postgres';
import type { CarriedOrder } from '../domain/route.ts';
import { errorFields, type Logger } from '../telemetry.ts';

/**
 * What a notice is about. `order`: the status of an order or its driver changed. `details`: only its payment,
 * its text or its notes, for which dispatch reads nothing. `door`: the dropoff's point was found, or found to be
 * elsewhere. `retailer`: the status, the rate or the card of a store changed. `jobs`: jobs are owed that no process
 * relays by itself. `everything`: too much changed to name it. `events`: events of these stores got their numbers.
 * `key`, `token`, `tracker`, `organization_key`: a key of a store, the token or the tracker of a driver, or a key of
 * an organization was added or revoked.
 * `organization`: a store joined or left it. `word`: see `createLastWord`.
 */
export const NOTICE_KINDS = [
  'order',
  'details',
  'door',
  'driver',
  'tier',
  'retailer',
  'jobs',
  'everything',
  'events',
  'key',
  'token',
  'tracker',
  'organization',
  'organization_key',
  'word',
] as const;
export type NoticeKind = (typeof NOTICE_KINDS)[number];

export type Notice = {
  readonly kind: NoticeKind;
  readonly ids: readonly string[];
  /** Whether this process sent it. */
  readonly own: boolean;
  /** The details are charges that were paid, for which a reply may wait: nothing has to be read. */
  readonly paid: boolean;
  /** Of another process's new orders those with a driver, by their ids: of them nothing has to be read. */
  readonly given: ReadonlyMap<string, GivenOrder>;
};

/** An order as it was committed, with its driver. */
export type GivenOrder = {
  readonly driverId: string;
  /** When its commit began, by the database's clock. */
  readonly atMs: number;
  readonly carried: CarriedOrder;
};

/** The listeners for notices. The tables are the truth: what a notice tells of an order is a read that it spares. */
export type NoticeHandlers = {
  readonly changed: (notice: Notice) => Promise<void> | void;
  /** Called whenever listening begins, the first time included, as earlier notices were missed. */
  readonly listening: () => Promise<void> | void;
};

/**
 * Listens for the notices that processes send with their commits, `{processId}:{kind}:{id,id,…}` on the channel
 * `sameday`. After it stands `:paid` for paid charges, and `::[…]` for new orders with what `givenOrders` of the
 * store says of each. The build before reads over that. This process's own come back too, marked as `own`: their effect
 * was applied when the commit returned, if it returned.
 *
 * @returns a function that stops listening
 */
export async function listenForNotices(
  sql: Sql,
  processId: string,
  handlers: NoticeHandlers,
  logger: Logger,
): Promise<() => Promise<void>> {
  const guard = async (work: () => Promise<void> | void) => {
    try {
      await work();
    } catch (error) {
      logger.error({ err: errorFields(error) }, 'a notice could not be handled');
    }
  };
  const subscription = await sql.listen(
    'sameday',
    (payload) => {
      const notice = parseNotice(payload, processId);
      if (notice) void guard(() => handlers.changed(notice));
    },
    () => void guard(handlers.listening),
  );
  return () => subscription.unlisten();
}

/** Null for what another version sends and this one does not know. */
function parseNotice(payload: string, processId: string): Notice | null {
  const [from, kind, list, about, facts] = payload.split(':');
  if (!list || !NOTICE_KINDS.includes(kind as NoticeKind)) return null;
  const [ids, own] = [list.split(','), from === processId];
  const given = facts && !own ? givenOrders(ids, facts) : NOTHING;
  return { kind: kind as NoticeKind, ids, own, paid: about === 'paid', given };
}

const NOTHING: ReadonlyMap<string, GivenOrder> = new Map();

/** What is not as expected, as another version may send, is left out: it is read. */
function givenOrders(ids: readonly string[], facts: string): ReadonlyMap<string, GivenOrder> {
  let rows: unknown;
  try {
    rows = JSON.parse(facts);
  } catch {
    return NOTHING;
  }
  if (!Array.isArray(rows) || rows.length !== ids.length) return NOTHING;
  const given = new Map<string, GivenOrder>();
  for (const [at, id] of ids.entries()) {
    const row: unknown = rows[at];
    if (Array.isArray(row) && row.length === GIVEN_FIELDS) given.set(id, toGiven(id, row as unknown as GivenRow));
  }
  return given;
}

const GIVEN_FIELDS = 11;
type GivenRow = readonly [
  driverId: string,
  retailerId: string,
  slot: number,
  pickupLat: number,
  pickupLng: number,
  dropoffLat: number | null,
  dropoffLng: number | null,
  atMs: number,
  readyAtMs: number | null,
  deliverAfterMs: number | null,
  deliverByMs: number,
];

function toGiven(orderId: string, row: GivenRow): GivenOrder {
  const [driverId, retailerId, slot, lat, lng, toLat, toLng, atMs, readyAtMs, deliverAfterMs, deliverByMs] = row;
  const carried = {
    orderId,
    retailerId,
    slot,
    step: 'to_fetch',
    pickup: { lat, lng },
    dropoff: toLat === null || toLng === null ? null : { lat: toLat, lng: toLng },
    readyAtMs: readyAtMs ?? atMs,
    ...(deliverAfterMs === null ? {} : { deliverAfterMs }),
    deliverByMs,
  } as const;
  return { driverId, atMs, carried };
}
