import type { ConcurrencyLimit } from '../postgres/batched-reads.ts';
import { finishing, inBatches } from '../queues/in-batches.ts';
import type { JobHandler } from '../queues/job-handler.ts';
import type { Store } from '../store/store.ts';
import type { RecordedText } from '../store/texts/messages.ts';
import type { TextBounds } from '../store/texts/text-rows.ts';
import type { RecordedOptionalText } from '../store/texts/texts.ts';
import { createTexting, type TextingDeps } from './texting.ts';

declare module '../queues/job-handler.ts' {
  interface JobHandlers {
    readonly sms: ReturnType<typeof createSmsJob>;
    readonly text: ReturnType<typeof createTextJob>;
  }
}

type TextJobDeps<Statement extends keyof Store> = TextingDeps & {
  readonly store: Pick<Store, Statement | 'finishJobs'>;
  /** Bounds the statements in flight that lock orders. */
  readonly orderLocks: ConcurrencyLimit;
  readonly bounds: TextBounds;
};

/** Texts the tracking link of an order once. */
export function createSmsJob(
  deps: TextJobDeps<'openTexts' | 'countSends' | 'uncountSend' | 'recordTexts'>,
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
    finish: finishing(store, 'sms'),
  });
}

/**
 * Sends the texts that stores choose, each once: on the way, delivered, not delivered. They have a queue of
 * their own, because a worker of the version before takes any job of `sms` for the tracking link's.
 */
export function createTextJob(
  deps: TextJobDeps<'openOptionalTexts' | 'countOptionalSends' | 'uncountOptionalSend' | 'recordOptionalTexts'>,
): JobHandler {
  const { store } = deps;
  const sender = deps.texts.from;
  const open = inBatches(
    (outboxIds: readonly number[]) => store.openOptionalTexts(outboxIds, deps.bounds, sender),
    String,
  );
  const record = inBatches(
    (texts: readonly RecordedOptionalText[]) => store.recordOptionalTexts(texts, sender),
    ({ orderId }) => orderId,
    deps.orderLocks,
  );
  return createTexting(deps, {
    open: ({ outboxId }) => open(outboxId),
    countSend: inBatches(store.countOptionalSends, ({ orderId }) => orderId),
    uncountSend: store.uncountOptionalSend,
    record: ({ orderId, kind }, result, outboxId) => record({ orderId, kind, result, outboxId }),
    finish: finishing(store, 'text'),
  });
}
