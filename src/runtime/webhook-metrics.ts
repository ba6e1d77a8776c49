import { Gauge, type Registry } from 'prom-client';
import type { Store } from '../store/store.ts';

/**
 * Gauges of what waits behind receivers of webhooks, which is no backlog of the system's. While the database is
 * away they are missing.
 */
export function watchWaitingWebhooks(store: Pick<Store, 'readWaitingWebhooks'>, registry: Registry): void {
  let reading: ReturnType<typeof store.readWaitingWebhooks> | null = null;
  // The gauges of a scrape share one statement.
  const read = () => {
    reading ??= store.readWaitingWebhooks().finally(() => {
      reading = null;
    });
    return reading.catch(() => null);
  };
  const registers = [registry];
  new Gauge({
    name: 'sameday_webhooks_waiting',
    help: 'Webhook deliveries that wait behind a receiver',
    registers,
    async collect() {
      const waiting = await read();
      this.reset();
      if (waiting) this.set(waiting.deliveries);
    },
  });
  const byReason = (name: string, help: string, figure: 'receivers' | 'oldestSeconds') =>
    new Gauge({
      name,
      help,
      labelNames: ['because'],
      registers,
      async collect() {
        const waiting = await read();
        this.reset();
        for (const reason of waiting?.reasons ?? []) this.set({ because: reason.because }, reason[figure]);
      },
    });
  byReason('sameday_webhooks_waiting_receivers', 'Receivers behind which deliveries wait', 'receivers');
  byReason('sameday_webhooks_waiting_oldest_seconds', 'Age of the oldest of these deliveries', 'oldestSeconds');
}
