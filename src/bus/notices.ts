import type { Sql } from 'postgres';
import { errorFields, type Logger } from '../telemetry.ts';

/**
 * `order`: whether an order waits, who carries it, or how far it is. `details`: only its payment, its text or the point it
 * goes to; dispatch has nothing to do with those, and reads nothing.
 */
export const NOTICE_KINDS = ['order', 'details', 'driver', 'tier'] as const;
export type NoticeKind = (typeof NOTICE_KINDS)[number];

/** Who is told what: ids only, the tables are the truth. */
export type NoticeHandlers = {
  readonly changed: (kind: NoticeKind, ids: readonly string[], own: boolean) => Promise<void> | void;
  /** Called each time listening begins, the first time included: notices before it were missed. */
  readonly listening: () => Promise<void> | void;
};

/**
 * Listens for the notices that other processes send with their commits, `{origin}:{kind}:{id,id,…}` on the channel
 * `sameday`. Our own come back too, marked as such: their effect was applied when the commit returned, if it returned.
 *
 * @returns a function that stops listening
 */
export async function listenForNotices(
  sql: Sql,
  origin: string,
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
      const [from, kind, ids] = payload.split(':');
      if (!ids || !NOTICE_KINDS.includes(kind as NoticeKind)) return;
      void guard(() => handlers.changed(kind as NoticeKind, ids.split(','), from === origin));
    },
    () => void guard(handlers.listening),
  );
  return () => subscription.unlisten();
}
