import type { Authenticator } from '../http/credentials.ts';
import { MAX_EVENT_WAIT_SECONDS } from '../http/field-errors.ts';
import { wrongNames } from '../http/input.ts';
import type { ListTurns } from '../http/list-turns.ts';
import { asAvailable } from '../http/outcomes.ts';
import type { StoreReader } from '../http/readers.ts';
import { listEvents } from '../http/routes/store-operations.ts';
import { DEFAULT_PAGE_SIZE, schemas } from '../http/schemas.ts';
import { countRead, type StoreRates } from '../http/store-rate.ts';
import { type Validated, valid, validate } from '../http/validate.ts';
import { validators } from '../http/validators.js';
import { below, QUERY_DEADLINE_MS } from '../limits.ts';
import type { EventPage, EventsAfter } from '../store/events/events.ts';
import type { Store } from '../store/store.ts';
import { json } from '../transport/reply.ts';
import type { Route } from '../transport/route.ts';
import type { EventCursors } from './event-cursors.ts';
import type { EventWaits } from './event-waits.ts';

/**
 * Longest time to the reply of such a request. Above MAX_EVENT_WAIT_SECONDS, with QUERY_DEADLINE_MS for the
 * statements before and after the wait.
 */
const EVENTS_DEADLINE_MS = MAX_EVENT_WAIT_SECONDS * 1_000 + 2 * QUERY_DEADLINE_MS + 1_000;

below(
  {
    'MAX_EVENT_WAIT_SECONDS in ms + 2 × QUERY_DEADLINE_MS': MAX_EVENT_WAIT_SECONDS * 1_000 + 2 * QUERY_DEADLINE_MS,
  },
  { EVENTS_DEADLINE_MS },
);

type EventQuery = { readonly after: EventsAfter | null; readonly limit: number; readonly waitMs: number };

/**
 * `GET /events?after=&limit=&wait=`: what happened to the orders of a store, or of an organization's stores, in the
 * order of its numbers. Where nothing has, it waits for up to `wait` seconds. Reads of an organization, which may look
 * at 20,000 entries, take turns with its lists.
 */
export function eventsRoute(parts: {
  readonly stores: Pick<Authenticator<StoreReader>, 'authenticate'>;
  readonly reads: StoreRates;
  readonly turns: ListTurns;
  readonly store: Pick<Store, 'readEvents' | 'readEventsOfStores'>;
  readonly waits: Pick<EventWaits, 'untilFound'>;
  readonly cursors: EventCursors;
}): Route<StoreReader> {
  const { stores, reads, turns, store, waits, cursors } = parts;
  return {
    method: 'get',
    pattern: '/events',
    operation: listEvents,
    authenticate: stores.authenticate,
    deadlineMs: EVENTS_DEADLINE_MS,
    async handle({ head, principal: reader, signal, alwaysReplyWith }) {
      const { after, limit, waitMs } = valid(readQuery(head.query, cursors));
      await countRead(reads, reader, alwaysReplyWith);
      const { id: holderId, retailerIds } = reader;
      const read = (by: StoreReader) =>
        by.kind === 'store'
          ? asAvailable(store.readEvents(by.id, after, limit))
          : asAvailable(turns.run(by.id, () => store.readEventsOfStores(by.retailerIds, after, limit)));
      // What the key may read can change while it waits.
      const readAnew = async () => read(await stores.authenticate(head));
      const page =
        waitMs === 0
          ? await read(reader)
          : await waits.untilFound({ holderId, retailerIds, waitMs, signal }, readAnew, isFound);
      if (page.isUnknown) valid({ fields: [{ field: 'after', message: 'is beyond the last event' }] });
      const { lostBefore } = page;
      const lost = lostBefore ? { events_lost_before: lostBefore.toISOString() } : {};
      return json(200, { success: true, ...cursors.shown(page), ...lost });
    },
  };
}

const isFound = ({ events, isUnknown }: EventPage): boolean => events.length > 0 || isUnknown;

/** Names everything that is wrong at once. */
function readQuery(query: URLSearchParams, cursors: EventCursors): Validated<EventQuery> {
  const checked = validate(validators.listEvents, Object.fromEntries(query));
  const fields = [...('fields' in checked ? checked.fields : []), ...wrongNames(query, schemas.listEvents.properties)];
  const given = query.get('after');
  const after = given === null ? null : cursors.read(given);
  if (after === undefined && fields.every(({ field }) => field !== 'after')) {
    fields.push({ field: 'after', message: 'must be a cursor of an event or of a page' });
  }
  if ('fields' in checked || fields.length > 0) return { fields };
  const { limit = DEFAULT_PAGE_SIZE, wait = 0 } = checked.ok;
  return { ok: { after: after ?? null, limit: Number(limit), waitMs: Number(wait) * 1_000 } };
}
