import type { Command } from 'commander';
import { CommandError } from '../cli/context.ts';
import { Listed, type ListOptions, readNamed, readPageRequest, readSearch, withListOptions } from '../cli/list.ts';
import { type Act, type Confirmed, confirm, known, requireId, text, withYes } from '../cli/parts.ts';
import { PAYOUT_STATUSES, type PayoutStatus } from '../domain/payout.ts';

type Decision = {
  readonly to: Exclude<PayoutStatus, 'held'>;
  readonly description: string;
  readonly refused: string;
  /** Of a decision that no other one takes back. */
  readonly final?: string;
};

const DECISIONS: Readonly<Record<string, Decision>> = {
  release: { to: 'owed', description: 'owe a payout that is held', refused: 'it is not held' },
  void: {
    to: 'void',
    description: 'refuse a payout that is not paid',
    refused: 'it cannot be refused any more',
    final: 'This refuses the payout of the driver for good.',
  },
  pay: {
    to: 'paid',
    description: 'record that a payout that is owed was paid',
    refused: 'it is not owed',
    final: 'This records for good that you paid the driver.',
  },
};

/** `payout list|release|void|pay` */
export function addPayoutCommands(program: Command, act: Act): void {
  const payout = program.command('payout').description("drivers' payouts");
  addList(payout, act);
  for (const [name, decision] of Object.entries(DECISIONS)) addDecision(payout, act, name, decision);
}

function addList(payout: Command, act: Act): void {
  withListOptions(
    payout
      .command('list')
      .description('list payouts of one status, held by default, with their reasons; oldest order first')
      .option('--driver <driver>', 'id, or a part of the name')
      .option('--store <store>', 'id, or a part of the name'),
    PAYOUT_STATUSES,
    "the order's id, or a part of a reason or of the note",
  ).action(
    act(async (context, _args, options: ListOptions & { driver?: string; store?: string }) => {
      const search = readSearch(options, PAYOUT_STATUSES);
      const page = readPageRequest(options);
      const retailerIds = await readNamed(context, 'retailers', '--store', options.store);
      const driverIds = await readNamed(context, 'drivers', '--driver', options.driver);
      const wanted = { ...search, status: search.status ?? 'held', retailerIds, driverIds } as const;
      return Listed.rows('payouts', await context.store.listPayouts(wanted, page));
    }),
  );
}

function addDecision(payout: Command, act: Act, name: string, decision: Decision): void {
  const { to, description, refused, final } = decision;
  const command = payout.command(`${name} <order_id>`).description(description);
  if (final !== undefined) withYes(command);
  const note = ['--note <text>', 'kept on record'] as const;
  if (to === 'void') command.requiredOption(...note);
  else command.option(...note);
  command.action(
    act(async ({ store }, [id], options: Confirmed & { note?: string }) => {
      const orderId = requireId(id);
      const kept = options.note === undefined ? null : text('--note', options.note);
      if (final !== undefined) confirm(options, final);
      const found = known(await store.settlePayout(orderId, to, kept), 'payout');
      if (!found.settled) throw new CommandError(`That payout is ${found.status}: ${refused}.`);
      return { order_id: id, payout_status: to, amount_cents: found.amountCents };
    }),
  );
}
