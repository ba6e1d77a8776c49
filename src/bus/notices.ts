import type { Sql } from 'postgres';
import { errorFields, type Logger } from '../telemetry.ts';

/**
 * What a notice is about. `order`: the status of an order or its driver changed. `details`: only its payment,
 * its text or its notes, for which dispatch reads nothing. `door`: the dropoff's point was found, or found to be
 * elsewhere. `retailer`: the status, the rate, the card
 * or the webhook of a store changed. `jobs`: jobs are owed that no process relays by itself. `everything`: too
 * much changed to name it. `events`: events of these stores got their numbers. `key`, `token`, `tracker`,
 * `organization_key`: a key of a store, the token or the tracker of a driver, or a key of an organization was
 * added or revoked.
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
};

/** The listeners for notices, which hold ids and no content, since the tables are the truth. */
export type NoticeHandlers = {
  readonly changed: (notice: Notice) => Promise<void> | void;
  /** Called whenever listening begins, the first time included, as earlier notices were missed. */
  readonly listening: () => Promise<void> | void;
};

/**
 * Listens for the notices that processes send with their commits, `{processId}:{kind}:{id,id,…}` and `:paid`
 * for paid charges, on the channel `sameday`. This process's own come back too, marked as `own`: their effect
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
  const [from, kind, ids, paid] = payload.split(':');
  if (!ids || !NOTICE_KINDS.includes(kind as NoticeKind)) return null;
  return { kind: kind as NoticeKind, ids: ids.split(','), own: from === processId, paid: paid === 'paid' };
}
