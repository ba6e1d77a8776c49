import type { Command } from 'commander';
import { CommandError, type Context } from '../cli/context.ts';
import { isId } from '../domain/ids.ts';
import type { IdTable } from '../store/operator/short-ids.ts';

/** Fewest characters of a short id: with fewer a word of hexadecimal letters would be one. */
const MIN_SHORT_ID_LENGTH = 4;

/** The tables of what a command calls so. */
const TABLES: Readonly<Record<string, readonly IdTable[]>> = {
  order_id: ['orders'],
  retailer_id: ['retailers'],
  application_id: ['retailer_applications'],
  id: ['retailers', 'retailer_applications'],
  driver_id: ['drivers'],
  organization_id: ['organizations'],
  key_id: ['organization_keys'],
  delivery_id: ['webhook_deliveries'],
};
const ID_LENGTH = 32;
/** Some of the digits of an id, with or without the hyphens. */
const HAS_TOO_FEW = new RegExp(`^[0-9a-f-]{1,${MIN_SHORT_ID_LENGTH - 1}}$`);
const SHORT_ID = new RegExp(`^[0-9a-f](?:-?[0-9a-f]){${MIN_SHORT_ID_LENGTH - 1},${ID_LENGTH - 1}}-?$`);

/**
 * The arguments and options of a command, in which the beginning of one id stands for the id, in capitals too.
 *
 * @throws {CommandError} where it is too short, no id begins so, or several do
 */
export async function withWholeIds(context: Context, command: Command) {
  const args = await Promise.all(
    command.args.map((typed, index) => wholeId(context, command.registeredArguments[index]?.name(), typed)),
  );
  const options = command.opts();
  for (const option of command.options) {
    const name = option.attributeName();
    const [, named] = /<(\w+)>/.exec(option.flags) ?? [];
    if (options[name] !== undefined) options[name] = await wholeId(context, named, options[name]);
  }
  return { args, options };
}

async function wholeId<Typed>({ store }: Context, named: string | undefined, typed: Typed): Promise<Typed | string> {
  const tables = TABLES[named ?? ''];
  if (tables === undefined || typeof typed !== 'string') return typed;
  const beginning = typed.toLowerCase();
  if (HAS_TOO_FEW.test(beginning)) {
    throw new CommandError(`${typed} is no whole id: give at least ${MIN_SHORT_ID_LENGTH} characters of it.`);
  }
  if (isId(beginning)) return beginning;
  if (!SHORT_ID.test(beginning)) return typed;
  const [id, other] = await store.findIds(tables, beginning);
  if (id === undefined) throw new CommandError(`There is none whose id begins with ${typed}.`);
  if (other === undefined) return id;
  throw new CommandError(`More than one id begins with ${typed}, such as ${id} and ${other}: give more of it.`);
}
