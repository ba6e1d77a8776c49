import type { ConcurrencyLimit } from '../postgres/batched-reads.ts';
import { finishing, inBatches } from '../queues/in-batches.ts';
import type { JobHandler } from '../queues/job-handler.ts';
import type { Store } from '../store/store.ts';
import type { OwedText, RecordedText, TextQueue } from '../store/texts/messages.ts';
import type { TextBounds } from '../store/texts/text-rows.ts';
import { createTexting, type TextingDeps, type TextRows } from './texting.ts';

declare module '../queues/job-handler.ts' {
  interface JobHandlers {
    readonly sms: ReturnType<typeof createSmsJob>;
    readonly text: ReturnType<typeof createTextJob>;
  }
}

type TextJobDeps<Open extends 'openTexts' | 'openOptionalTexts'> = TextingDeps & {
  readonly store: Pick<Store, Open | 'countSends' | 'uncountSend' | 'recordTexts' | 'finishJobs'>;
  /** Bounds the statements in flight that lock orders. */
  readonly orderLocks: ConcurrencyLimit;
  readonly bounds: TextBounds;
};

/** Texts the tracking link of an order once. */
export function createSmsJob(deps: TextJobDeps<'openTexts'>): JobHandler {
  const open = inBatches(
    (orderIds: readonly string[]) => deps.store.openTexts(orderIds, deps.bounds, deps.texts.from),
    (orderId) => orderId,
  );
  return createTexting(
    deps,
    textRows('sms', deps, ({ orderId }) => open(orderId)),
  );
}

/**
 * Sends the texts that stores choose, each once: on the way, delivered, not delivered. They have a queue of
 * their own, because a worker of the version before takes any job of `sms` for the tracking link's.
 */
export function createTextJob(deps: TextJobDeps<'openOptionalTexts'>): JobHandler {
  const open = inBatches(
    (outboxIds: readonly number[]) => deps.store.openOptionalTexts(outboxIds, deps.bounds, deps.texts.from),
    String,
  );
  return createTexting(
    deps,
    textRows('text', deps, ({ outboxId }) => open(outboxId)),
  );
}

function textRows(
  queue: TextQueue,
  { store, texts, orderLocks }: Omit<TextJobDeps<never>, 'bounds'>,
  open: TextRows['open'],
): TextRows {
  const keyOf = ({ orderId }: { readonly orderId: string }) => orderId;
  const record = inBatches(
    (recorded: readonly RecordedText[]) => store.recordTexts(queue, recorded, texts.from),
    keyOf,
    orderLocks,
  );
  return {
    open,
    countSend: inBatches((sends: readonly OwedText[]) => store.countSends(queue, sends), keyOf),
    uncountSend: (text) => store.uncountSend(queue, text),
    record: ({ orderId, kind }, result, outboxId) => record({ orderId, kind, result, outboxId }),
    finish: finishing(store, queue),
  };
}
