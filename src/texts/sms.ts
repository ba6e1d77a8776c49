import type { ConcurrencyLimit } from '../postgres/batched-reads.ts';
import { inBatches } from '../queues/in-batches.ts';
import type { JobHandler } from '../queues/job-handler.ts';
import type { Store } from '../store/store.ts';
import type { RecordedText } from '../store/texts/messages.ts';
import type { TextBounds } from '../store/texts/text-rows.ts';
import { createTexting, type TextingDeps } from './texting.ts';

declare module '../queues/job-handler.ts' {
  interface JobHandlers {
    readonly sms: ReturnType<typeof createSmsJob>;
  }
}

/** Texts the tracking link of an order once. */
export function createSmsJob(
  deps: TextingDeps & {
    readonly store: Pick<Store, 'openTexts' | 'countSends' | 'uncountSend' | 'recordTexts' | 'finishJobs'>;
    /** Bounds the statements in flight that lock orders. */
    readonly orderLocks: ConcurrencyLimit;
    readonly bounds: TextBounds;
  },
): JobHandler {
  const { store } = deps;
  const sender = deps.texts.from;
  const open = inBatches(
    (orderIds: readonly string[]) => store.openTexts(orderIds, deps.bounds, sender),
    (orderId) => orderId,
  );
  const record = inBatches(
    (texts: readonly RecordedText[]) => store.recordTexts(texts, sender),
    ({ orderId }) => orderId,
    deps.orderLocks,
  );
  return createTexting(deps, {
    open: ({ orderId }) => open(orderId),
    countSend: inBatches(store.countSends, ({ orderId }) => orderId),
    uncountSend: store.uncountSend,
    record: ({ orderId }, result, outboxId) => record({ orderId, result, outboxId }),
    finish: inBatches(store.finishJobs, String),
  });
}
