export const QUEUES = ['charge', 'sms', 'refund', 'redispatch', 'webhook', 'locate'] as const;
export type QueueName = (typeof QUEUES)[number];

/** A job owed to an order. */
export type OutboxRow = {
  readonly id: number;
  readonly queue: QueueName;
  readonly orderId: string;
  readonly retailerId: string;
  readonly runAt: Date;
  /** How often the sweeper relayed it; 0 the first time. */
  readonly relays: number;
};

/** Outbox rows as they come out of a statement's `json_agg`. */
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
