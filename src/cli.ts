import { Command, CommanderError } from 'commander';
import { CommandError, withContext } from './cli/context.ts';
import { addDriverCommands } from './cli/driver.ts';
import { addOrderCommands, addStatsCommand, addTierCommands } from './cli/order.ts';
import { print } from './cli/output.ts';
import type { Act } from './cli/parts.ts';
import { addPayoutCommands } from './cli/payout.ts';
import { addRetailerCommands } from './cli/retailer.ts';
import { addSandboxCommands } from './cli/sandbox.ts';
import { addWebhookCommands } from './cli/webhook.ts';
import { ConfigError, readCliConfig } from './config.ts';
import { errorFields } from './telemetry.ts';

const program = new Command('sameday')
  .description('The operator’s command line of Sameday. It works on the database of the running service.')
  .exitOverride()
  .showHelpAfterError();

const act: Act =
  (work) =>
  async (...args) => {
    const command = args.at(-1) as Command;
    const options = command.opts();
    const found = await withContext(readCliConfig(), (context) => work(context, command.args, options as never));
    print(found, command.optsWithGlobals().json === true);
  };

addRetailerCommands(program, act);
addDriverCommands(program, act);
addOrderCommands(program, act);
addPayoutCommands(program, act);
addTierCommands(program, act);
addWebhookCommands(program, act);
addStatsCommand(program, act);
addSandboxCommands(program, act);
for (const command of leaves(program)) command.option('--json', 'print JSON').exitOverride();

function leaves(command: Command): Command[] {
  return command.commands.flatMap((child) => (child.commands.length > 0 ? leaves(child) : [child]));
}

/** The line on standard error. An unexpected error shows only its code, as its message may hold data. */
function explain(error: unknown): string {
  if (error instanceof CommandError || error instanceof ConfigError) return error.message;
  const { name, code } = errorFields(error);
  return `The command failed: ${name}${code ? ` ${code}` : ''}. Is the database running?`;
}

try {
  await program.parseAsync();
} catch (error) {
  if (error instanceof CommanderError) {
    process.exitCode = error.exitCode === 0 ? 0 : 2;
  } else {
    process.stderr.write(`${explain(error)}\n`);
    process.exitCode = 1;
  }
}
