import type { Command } from 'commander';
import { PAYOUT_STATUSES, type PayoutStatus } from '../domain/payout.ts';
import { LIST_LIMIT } from '../limits.ts';
import { CommandError } from './context.ts';
import { type Act, integer, known, requireId, text } from './parts.ts';

type ListOptions = { status: string; driver?: string; store?: string; limit: string; after?: string };
type Decision = { readonly to: Exclude<PayoutStatus, 'held'>; readonly description: string; readonly refused: string };

const DECISIONS: Readonly<Record<string, Decision>> = {
  release: { to: 'owed', description: 'owe a payout that is held', refused: 'it is not held' },
  void: { to: 'void', description: 'refuse a payout that is not paid', refused: 'it cannot be refused any more' },
  pay: { to: 'paid', description: 'record that a payout that is owed was paid', refused: 'it is not owed' },
};

/** `payout list|release|void|pay` */
export function addPayoutCommands(program: Command, act: Act): void {
  const payout = program.command('payout').description("drivers' payouts");
  addList(payout, act);
  for (const [name, decision] of Object.entries(DECISIONS)) addDecision(payout, act, name, decision);
}

function addList(payout: Command, act: Act): void {
  payout
    .command('list')
    .description('list payouts of one status with their reasons, oldest order first')
    .option('--status <status>', PAYOUT_STATUSES.join(', '), 'held')
    .option('--driver <driver_id>')
    .option('--store <retailer_id>')
    .option('--limit <n>', `most payouts, 1 to ${LIST_LIMIT}`, String(LIST_LIMIT))
    .option('--after <order_id>', 'go on after this order')
    .action(
      act(async ({ store }, _args, options: ListOptions) => {
        const status = PAYOUT_STATUSES.find((each) => each === options.status);
        if (!status) throw new CommandError(`--status is one of ${PAYOUT_STATUSES.join(', ')}.`);
        const idOf = (id: string | undefined) => (id === undefined ? null : requireId(id));
        const filter = {
          status,
          driverId: idOf(options.driver),
          retailerId: idOf(options.store),
          after: idOf(options.after),
        };
        const { payouts, more } = await store.listPayouts(filter, integer('--limit', options.limit, 1, LIST_LIMIT));
        if (more > 0) process.stderr.write(`${more} more payouts: --after ${payouts.at(-1)?.order_id}\n`);
        return payouts;
      }),
    );
}

function addDecision(payout: Command, act: Act, name: string, { to, description, refused }: Decision): void {
  const command = payout.command(`${name} <order_id>`).description(description);
  const note = ['--note <text>', 'kept on record'] as const;
  if (to === 'void') command.requiredOption(...note);
  else command.option(...note);
  command.action(
    act(async ({ store }, [id], options: { note?: string }) => {
      const kept = options.note === undefined ? null : text('--note', options.note);
      const found = known(await store.settlePayout(requireId(id), to, kept), 'payout');
      if (!found.settled) throw new CommandError(`That payout is ${found.status}: ${refused}.`);
      return { order_id: id, payout_status: to, amount_cents: found.amountCents };
    }),
  );
}
