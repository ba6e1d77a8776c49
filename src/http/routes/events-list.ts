import { DEFAULT_PAGE_SIZE, EVENTS_DEADLINE_MS } from '../../limits.ts';
import type { EventPage } from '../../store/events.ts';
import type { Store } from '../../store/store.ts';
import { json } from '../../transport/reply.ts';
import type { Route } from '../../transport/route.ts';
import type { Authenticator } from '../credentials.ts';
import type { EventWaits } from '../event-waits.ts';
import { unknownNames } from '../input.ts';
import { asAvailable } from '../outcomes.ts';
import type { StoreReader } from '../readers.ts';
import { schemas } from '../schemas.ts';
import { countRead, type StoreRates } from '../store-rate.ts';
import { type Validated, valid, validate } from '../validate.ts';
import { validators } from '../validators.js';
import { listEvents } from './store-operations.ts';

type EventQuery = { readonly after: string | null; readonly limit: number; readonly waitMs: number };

/**
 * `GET /events?after=&limit=&wait=`: what happened to the orders of a store, or of an
 * organization's stores, in the order of its numbers. Where
 * nothing has, it waits for up to `wait` seconds.
 */
export function eventsRoute(parts: {
  readonly stores: Pick<Authenticator<StoreReader>, 'authenticate'>;
  readonly reads: StoreRates;
  readonly store: Pick<Store, 'readEvents'>;
  readonly waits: Pick<EventWaits, 'untilFound'>;
}): Route<StoreReader> {
  const { stores, reads, store, waits } = parts;
  return {
    method: 'get',
    pattern: '/events',
    operation: listEvents,
    authenticate: stores.authenticate,
    deadlineMs: EVENTS_DEADLINE_MS,
    async handle({ head, principal: reader, signal, alwaysReplyWith }) {
      const { after, limit, waitMs } = valid(readQuery(head.query));
      await countRead(reads, reader, alwaysReplyWith);
      const { id: holderId, retailerIds } = reader;
      const read = () => asAvailable(store.readEvents(retailerIds, after, limit));
      const page =
        waitMs === 0 ? await read() : await waits.untilFound({ holderId, retailerIds, waitMs, signal }, read, isFound);
      if (page.isUnknown) valid({ fields: [{ field: 'after', message: 'is beyond the last event' }] });
      return json(200, toWire(page));
    },
  };
}

const isFound = ({ events, isUnknown }: EventPage): boolean => events.length > 0 || isUnknown;

const toWire = ({ events, nextCursor, lostBefore }: EventPage): object => ({
  success: true,
  events,
  next_cursor: nextCursor,
  ...(lostBefore ? { events_lost_before: lostBefore.toISOString() } : {}),
});

/** Names everything that is wrong at once. */
function readQuery(query: URLSearchParams): Validated<EventQuery> {
  const checked = validate(validators.listEvents, Object.fromEntries(query));
  const unknown = unknownNames(query, schemas.listEvents.properties);
  if ('fields' in checked) return { fields: [...checked.fields, ...unknown] };
  if (unknown.length > 0) return { fields: unknown };
  const { after = '0', limit = DEFAULT_PAGE_SIZE, wait = 0 } = checked.ok;
  // 0 begins with what is kept, as no cursor does.
  return { ok: { after: Number(after) === 0 ? null : after, limit: Number(limit), waitMs: Number(wait) * 1_000 } };
}
