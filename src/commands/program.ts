import { readFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { type Command, CommanderError } from 'commander';
import { type ActAlone, CliCommand } from '../cli/command.ts';
import { CommandError, withContext } from '../cli/context.ts';
import { Listed } from '../cli/list.ts';
import { escapeLines, type Output, openOutput, type Streams } from '../cli/output.ts';
import type { Act } from '../cli/parts.ts';
import { readWatch } from '../cli/watch.ts';
import { ConfigError, type Environment, parseConfig, readCliConfig, readConfig } from '../config.ts';
import { addWebhookCommands } from '../events/webhook-command.ts';
import { addPayoutCommands } from '../payments/payout-command.ts';
import { classifyFailure } from '../postgres/failures.ts';
import { databaseRemedy } from '../runtime/remedies.ts';
import { errorFields } from '../telemetry.ts';
import { addTextCommands } from '../texts/text-command.ts';
import { addBackupCommands } from './backup.ts';
import { addCheckCommand } from './check.ts';
import { chooseColumns } from './columns.ts';
import { addCompletionCommand } from './completion.ts';
import { addDriverCommands } from './driver.ts';
import { withoutFarGuesses } from './guesses.ts';
import { addJobCommands } from './job.ts';
import { addOrderCommands, addStatsCommand, addTierCommands } from './order.ts';
import { addOrganizationCommands } from './organization.ts';
import { addRetailerCommands } from './retailer.ts';
import { addSandboxCommands } from './sandbox.ts';
import { withWholeIds } from './short-ids.ts';

/**
 * Runs a command of the operator's command line; resolves with its exit code, having printed why where it is not 0.
 *
 * @param args what follows `sameday`
 * @param env by default this process's own
 * @param pause between two looks of a command that watches
 */
export async function runProgram(
  args: readonly string[],
  streams: Streams,
  env?: Environment,
  pause: Pause = waitFor,
): Promise<number> {
  const output = openOutput(streams);
  try {
    await buildProgram(isJson(args) ? { ...streams, stderr: NOWHERE } : streams, output, { env, pause }).parseAsync(
      args,
      { from: 'user' },
    );
    return 0;
  } catch (error) {
    const isTyping = error instanceof CommanderError;
    if (isTyping && error.exitCode === 0) return 0;
    if (isJson(args))
      output.tell(JSON.stringify({ error: isTyping ? withoutFarGuesses(error.message) : explain(error) }));
    // Commander has said what is wrong with what was typed, beside its help.
    else if (!isTyping) output.tell(explain(error));
    return isTyping ? 2 : error instanceof CommandError ? error.exitCode : 1;
  }
}

/** Waits; false ends the watching. */
export type Pause = (ms: number) => Promise<boolean>;

async function waitFor(ms: number): Promise<true> {
  await sleep(ms);
  return true;
}

/** Programs read errors as JSON, too: `{"error": …}`. */
const isJson = (args: readonly string[]): boolean => args.includes('--json');
const NOWHERE = { write: () => undefined };

function buildProgram(
  { stdout, stderr }: Streams,
  output: Output,
  { env, pause }: { readonly env: Environment | undefined; readonly pause: Pause },
): Command {
  const act: Act =
    (work) =>
    async (...args) => {
      const command = args.at(-1) as Command;
      const watchMs = readWatch(command.opts().watch);
      await withContext(readCliConfig(env), output, async (context) => {
        const { args: whole, options } = await withWholeIds(context, command);
        for (let looks = 0; looks === 0 || (watchMs !== null && (await pause(watchMs))); looks++) {
          const found = await work(context, whole, options as never);
          if (looks > 0) output.clear();
          show(output, found, command);
        }
      });
    };
  const actAlone: ActAlone =
    (work) =>
    async (...args) => {
      const command = args.at(-1) as Command;
      const json = command.optsWithGlobals().json === true;
      await work({
        args: command.args,
        options: command.opts(),
        write: output.write,
        tell: output.tell,
        settings: () => (env ? parseConfig(env) : readConfig()),
        print: (value) => output.print(value, json),
      });
    };
  const program = new CliCommand('sameday', act, actAlone)
    .description('The operator’s command line of Sameday. It works on the database of the running service.')
    .configureOutput({
      writeOut: (text) => stdout.write(text),
      // Its errors quote what was typed, which may have been pasted.
      writeErr: (text) => stderr.write(escapeLines(withoutFarGuesses(text))),
    })
    .version(version(), '--version', 'print the version')
    .exitOverride()
    .showHelpAfterError();
  addRetailerCommands(program);
  addOrganizationCommands(program);
  addDriverCommands(program);
  addOrderCommands(program);
  addPayoutCommands(program, act);
  addTierCommands(program);
  addTextCommands(program, act);
  addWebhookCommands(program, act);
  addJobCommands(program);
  addStatsCommand(program);
  addSandboxCommands(program);
  addCheckCommand(program);
  addBackupCommands(program);
  addCompletionCommand(program);
  for (const command of leaves(program)) command.option('--json', 'print JSON').exitOverride();
  return program;
}

function version(): string {
  return (JSON.parse(readFileSync(new URL('../../package.json', import.meta.url), 'utf8')) as { version: string })
    .version;
}

function leaves(command: Command): Command[] {
  return command.commands.flatMap((child) => (child.commands.length > 0 ? leaves(child) : [child]));
}

/** In JSON the rows stay as they were, so what follows them goes to standard error. */
function show({ print, tell, write }: Output, found: unknown, command: Command): void {
  const { json = false, columns } = command.optsWithGlobals<{ json?: boolean; columns?: string }>();
  // A command that has printed as it went on says nothing at its end.
  if (found === undefined) return;
  if (!(found instanceof Listed)) {
    print(found, json);
    return;
  }
  print(columns === undefined ? found.shown : chooseColumns(found.shown, columns), json, true);
  for (const line of found.whatFollows(command)) (json ? tell : write)(line);
}

/** Done twice, some commands make a second key, or a second store. */
const PERHAPS_DONE = 'What the command changes may have been changed: look before you run it again.';

/** The line on standard error. An unexpected error shows only its code, as its message may hold data. */
function explain(error: unknown): string {
  if (error instanceof CommandError || error instanceof ConfigError) return error.message;
  const { name, code } = errorFields(error);
  const words = databaseRemedy(error) ?? `The command failed: ${name}${code ? ` ${code}` : ''}.`;
  return classifyFailure(error) === 'unknown' ? `${words} ${PERHAPS_DONE}` : words;
}
