import type { Command } from 'commander';
import type { Context } from '../../src/cli/context.ts';
import type { Act } from '../../src/cli/parts.ts';

/**
 * Runs commands on these functions of a store, and with no settings.
 *
 * @param hear gets what a command returns, which the command line would print, and the command
 */
export const actOn =
  (store: object, hear: (found: unknown, command: Command) => void = () => undefined): Act =>
  (work) =>
  async (...args) => {
    const command = args.at(-1) as Command;
    const context = { store, config: {} } as unknown as Context;
    hear(await work(context, command.args, command.opts() as never), command);
  };
