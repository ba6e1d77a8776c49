import type { PushKind, PushSubscription } from '../domain/push.ts';
import { below, WEBHOOK_CONCURRENCY } from '../limits.ts';
import type { Store } from '../store/store.ts';
import type { PushOutcome, PushSender } from './push-sender.ts';

/** Drivers whose phones one statement reads for pushes. */
export const MAX_PUSH_BATCH = 200;
/** Shortest time between two statements that read where drivers are rung. A phone takes seconds to ring. */
const PUSH_READ_MS = 100;
/** Most drivers who wait for their push; beyond, pushes are dropped and counted. Above MAX_PUSH_BATCH. */
export const MAX_PUSHES_WAITING = 2_000;
/** Pushes that are sent at once. Below WEBHOOK_CONCURRENCY, which the client itself allows. */
export const PUSH_CONCURRENCY = 16;

below({ MAX_PUSH_BATCH }, { MAX_PUSHES_WAITING });
below({ PUSH_CONCURRENCY }, { WEBHOOK_CONCURRENCY });

/** Rings drivers' phones. A push is a convenience: one that cannot be sent is lost, and counted. */
export type Pushes = ReturnType<typeof createPushes>;

/**
 * Reads where drivers are rung in batches, one at a time and PUSH_READ_MS apart, so that many orders cost few
 * statements, and sends PUSH_CONCURRENCY pushes at once. A phone whose vendor does not know it any more is forgotten.
 *
 * @param parts.observe counts each push by what became of it; `dropped` was not sent
 * @param parts.failed called for a statement that failed
 */
export function createPushes(parts: {
  readonly store: Pick<Store, 'findPushSubscriptions' | 'forgetPushEndpoint'>;
  readonly send: PushSender;
  readonly observe: (outcome: PushOutcome | 'dropped') => void;
  readonly failed: (error: unknown) => void;
}) {
  const { store, observe, failed } = parts;
  const unread = new Map<string, PushKind>();
  const unsent: { readonly phone: PushSubscription; readonly kind: PushKind }[] = [];
  /** Whether drivers are read, or were just now. */
  let isReading = false;
  let timer: NodeJS.Timeout | undefined;
  let sending = 0;
  let isClosed = false;

  async function read(): Promise<void> {
    isReading = true;
    const batch = new Map([...unread].slice(0, MAX_PUSH_BATCH));
    for (const driverId of batch.keys()) unread.delete(driverId);
    try {
      const phones = await store.findPushSubscriptions([...batch.keys()]);
      for (const [driverId, kind] of batch) {
        for (const phone of phones.get(driverId) ?? []) unsent.push({ phone, kind });
      }
    } catch (error) {
      failed(error);
      for (const _ of batch) observe('dropped');
    }
    sendNext();
    if (!isClosed) timer = setTimeout(readOn, PUSH_READ_MS);
  }

  function readOn(): void {
    isReading = false;
    if (unread.size > 0) void read();
  }

  function sendNext(): void {
    while (sending < PUSH_CONCURRENCY && !isClosed) {
      const next = unsent.shift();
      if (!next) return;
      sending++;
      void sendOne(next.phone, next.kind).finally(() => {
        sending--;
        sendNext();
      });
    }
  }

  async function sendOne(phone: PushSubscription, kind: PushKind): Promise<void> {
    const outcome = await parts.send(phone, kind);
    observe(outcome);
    if (outcome === 'gone') await store.forgetPushEndpoint(phone.endpoint).catch(failed);
  }

  return {
    /** Has the driver's phones told. Returns at once and never throws; of several the last is told. */
    tell(driverId: string, kind: PushKind) {
      if (isClosed) return;
      if (unread.size + unsent.length >= MAX_PUSHES_WAITING) return observe('dropped');
      unread.delete(driverId);
      unread.set(driverId, kind);
      if (!isReading) void read();
    },
    /** Begins no further push. */
    close() {
      isClosed = true;
      clearTimeout(timer);
    },
  };
}
