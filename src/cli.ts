import { Command, CommanderError } from 'commander';
import { CommandError, withContext } from './cli/context.ts';
import { addDriverCommands } from './cli/driver.ts';
import { Listed } from './cli/list.ts';
import { addOrderCommands, addStatsCommand, addTierCommands } from './cli/order.ts';
import { addOrganizationCommands } from './cli/organization.ts';
import { escapeLines, print, tell, write } from './cli/output.ts';
import type { Act } from './cli/parts.ts';
import { addPayoutCommands } from './cli/payout.ts';
import { addRetailerCommands } from './cli/retailer.ts';
import { addSandboxCommands } from './cli/sandbox.ts';
import { addTextCommands } from './cli/text.ts';
import { addWebhookCommands } from './cli/webhook.ts';
import { ConfigError, readCliConfig } from './config.ts';
import { errorFields } from './telemetry.ts';

const program = new Command('sameday')
  .description('The operator’s command line of Sameday. It works on the database of the running service.')
  .configureOutput({
    // Its errors quote what was typed, which may have been pasted.
    writeErr: (text) => process.stderr.write(escapeLines(text)),
  })
  .exitOverride()
  // The help lists the commands. A suggestion by spelling took `return` for `refund`.
  .showSuggestionAfterError(false)
  .showHelpAfterError();

const act: Act =
  (work) =>
  async (...args) => {
    const command = args.at(-1) as Command;
    const options = command.opts();
    const found = await withContext(readCliConfig(), (context) => work(context, command.args, options as never));
    const json = command.optsWithGlobals().json === true;
    if (found instanceof Listed) printPage(found, command, json);
    // A command that has printed as it went on says nothing at its end.
    else if (found !== undefined) print(found, json);
  };

/** In JSON the rows stay as they were, so what follows them goes to standard error. */
function printPage(list: Listed, command: Command, json: boolean): void {
  print(list.shown, json);
  for (const line of list.whatFollows(command)) (json ? tell : write)(line);
}

addRetailerCommands(program, act);
addOrganizationCommands(program, act);
addDriverCommands(program, act);
addOrderCommands(program, act);
addPayoutCommands(program, act);
addTierCommands(program, act);
addTextCommands(program, act);
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
    tell(explain(error));
    process.exitCode = 1;
  }
}
