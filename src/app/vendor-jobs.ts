import { createChargeJob } from '../jobs/charge.ts';
import { createSmsJob } from '../jobs/sms.ts';
import { MAX_JOB_STATEMENTS, MAX_JOBS_PER_STATEMENT, MAX_PAYMENT_ATTEMPTS } from '../limits.ts';
import { batched, type ConcurrencyLimit, limitConcurrency } from '../postgres/batched-reads.ts';
import type { Sql } from '../postgres/connect.ts';
import type { JobData, JobResult } from '../queues/queues.ts';
import type { ChangedOrder } from '../store/changes.ts';
import {
  countSends,
  openTexts,
  type RecordedText,
  recordTexts,
  type SendToCount,
  uncountSend,
} from '../store/messages.ts';
import { openPaymentAttempts, type PaidAttempt, recordDeclined, recordPaid } from '../store/payments.ts';
import type { Charger } from '../vendors/charger.ts';
import type { TextSender } from '../vendors/text-sender.ts';

type Handle = (data: JobData) => Promise<JobResult>;
const orderOf = ({ orderId }: { readonly orderId: string }): string => orderId;

/** The handler that charges an order. Jobs at work at the same time share their statements. */
export function buildChargeJob(
  parts: {
    readonly sql: Sql;
    readonly origin: string;
    readonly stripe: Charger;
    /** For statements that lock orders. */
    readonly lane: ConcurrencyLimit;
    readonly finish: (outboxId: number) => Promise<void>;
    readonly relayed: (settling: Promise<ChangedOrder | null>) => Promise<ChangedOrder | null>;
    readonly now: () => number;
  },
  settled: Parameters<typeof createChargeJob>[0]['settled'],
): Handle {
  const { sql, origin, stripe, lane } = parts;
  const open = batched(
    (ids: readonly string[]) => openPaymentAttempts(sql, ids, MAX_PAYMENT_ATTEMPTS),
    (id) => id,
    MAX_JOBS_PER_STATEMENT,
    lane,
  );
  const paid = batched(
    (attempts: readonly PaidAttempt[]) => recordPaid(sql, attempts, origin),
    orderOf,
    MAX_JOBS_PER_STATEMENT,
    lane,
  );
  return createChargeJob({
    open,
    async settle({ orderId, attempt }, result, outboxId) {
      if (result.status === 'paid') {
        const { paymentIntentId } = result;
        return (await paid({ orderId, attempt, paymentIntentId, outboxId })) !== null;
      }
      const settling = recordDeclined(sql, { orderId, attempt }, result, outboxId, origin);
      return (await parts.relayed(settling)) !== null;
    },
    finish: parts.finish,
    charge: stripe.charge,
    findCharge: stripe.findCharge,
    now: parts.now,
    settled,
  });
}

/** The handler that texts a customer. Jobs at work at the same time share their statements. */
export function buildSmsJob(
  parts: {
    readonly sql: Sql;
    readonly origin: string;
    readonly twilio: TextSender;
    /** For statements that lock orders. */
    readonly lane: ConcurrencyLimit;
    readonly finish: (outboxId: number) => Promise<void>;
    readonly trackingUrl: string;
    readonly now: () => number;
  },
  settled: (orderId: string) => void,
): Handle {
  const { sql, origin, twilio, lane } = parts;
  const open = batched(
    (ids: readonly string[]) => openTexts(sql, ids),
    (id) => id,
    MAX_JOBS_PER_STATEMENT,
    limitConcurrency(MAX_JOB_STATEMENTS),
  );
  const count = batched(
    (sends: readonly SendToCount[]) => countSends(sql, sends),
    orderOf,
    MAX_JOBS_PER_STATEMENT,
    limitConcurrency(MAX_JOB_STATEMENTS),
  );
  const settle = batched(
    (texts: readonly RecordedText[]) => recordTexts(sql, texts, origin),
    orderOf,
    MAX_JOBS_PER_STATEMENT,
    lane,
  );
  return createSmsJob({
    open,
    count: async (send) => (await count(send)) !== null,
    uncount: (send) => uncountSend(sql, send),
    settle: async (orderId, result, outboxId) => (await settle({ orderId, result, outboxId })) !== null,
    finish: parts.finish,
    send: twilio.send,
    find: twilio.find,
    trackingUrl: parts.trackingUrl,
    now: parts.now,
    settled,
  });
}
