import type { CliCommand } from '../cli/command.ts';
import { Worded } from '../cli/output.ts';
import { integer, known, requireId } from '../cli/parts.ts';
import { MAX_STORE_RATE } from '../limits.ts';

/** `retailer set-rate` */
export function addSetRate(retailer: CliCommand): void {
  retailer
    .command('set-rate <retailer_id>')
    .description('set the most orders a second that a store may create, and cancel, on each API process')
    .requiredOption('--per-second <number>', 'a whole number; none for no bound; default for STORE_RATE')
    .runs(async ({ store }, [id], { perSecond }: { perSecond: string }) => {
      const ordersPerSecond = readRate(perSecond);
      known((await store.setOrdersPerSecond(requireId(id), ordersPerSecond)) || null, 'store');
      return { retailer_id: id, orders_per_second: rateInWords(ordersPerSecond) };
    });
}

/** A store's rate as the command takes it; in JSON it stays the value of the column. */
export function rateInWords(ordersPerSecond: number | null): Worded {
  if (ordersPerSecond === null) return new Worded(null, 'default');
  return new Worded(ordersPerSecond, ordersPerSecond === 0 ? 'none' : String(ordersPerSecond));
}

/** The value of the column: 0 for no bound, null for the bound of all stores. */
function readRate(text: string): number | null {
  if (text === 'default') return null;
  return text === 'none' ? 0 : integer('--per-second', text, 1, MAX_STORE_RATE);
}
