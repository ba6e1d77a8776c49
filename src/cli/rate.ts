import type { Command } from 'commander';
import { MAX_STORE_RATE } from '../limits.ts';
import { type Act, integer, known, requireId } from './parts.ts';

/** `retailer set-rate` */
export function addSetRate(retailer: Command, act: Act): void {
  retailer
    .command('set-rate <retailer_id>')
    .description('how many orders a store may create a second on each API process')
    .requiredOption('--per-second <number>', 'a whole number, none, or default: what STORE_RATE says for all stores')
    .action(
      act(async ({ store }, [id], { perSecond }: { perSecond: string }) => {
        const ordersPerSecond = readRate(perSecond);
        known((await store.setOrdersPerSecond(requireId(id), ordersPerSecond)) || null, 'store');
        return { retailer_id: id, orders_per_second: ordersPerSecond };
      }),
    );
}

/** The table's value: 0 for no bound, null for what holds for all stores. */
function readRate(text: string): number | null {
  if (text === 'default') return null;
  return text === 'none' ? 0 : integer('--per-second', text, 1, MAX_STORE_RATE);
}
