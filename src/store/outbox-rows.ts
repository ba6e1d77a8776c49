export const QUEUES = ['charge', 'sms', 'refund', 'redispatch', 'webhook', 'event', 'locate', 'text'] as const;
export type QueueName = (typeof QUEUES)[number];

/** A job of an order that is not done. */
export type OutboxRow = {
  readonly id: number;
  readonly queue: QueueName;
  readonly orderId: string;
  readonly retailerId: string;
  readonly runAt: Date;
  /** Times it was relayed again; 0 the first time. */
  readonly relays: number;
};

/** Reads outbox rows from the result of `jobsAsJson`, or from rows of the table. */
export function parseOutboxRows(
  rows: readonly {
    id: number;
    queue: QueueName;
    order_id: string;
    retailer_id: string;
    run_at: string;
    relays?: number;
  }[],
): OutboxRow[] {
  return rows.map((row) => ({
    id: Number(row.id),
    queue: row.queue,
    orderId: row.order_id,
    retailerId: row.retailer_id,
    runAt: new Date(row.run_at),
    relays: row.relays ?? 0,
  }));
}
