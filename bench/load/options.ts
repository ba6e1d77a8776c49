import { existsSync, statSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { Command, InvalidArgumentError, Option } from 'commander';

/** What `npm run load` was asked for. */
export type LoadCommand = {
  readonly target: Throwaway | OwnService;
  /** A few drivers and a second for each figure, to see that the command works. */
  readonly small: boolean;
  readonly json: boolean;
  /** The file for the plot. */
  readonly plot: string | undefined;
};

/** A service of its own with throwaway servers. */
export type Throwaway = {
  readonly kind: 'throwaway';
  readonly apis: number;
  /** Whether to print what one order causes, instead of what the service takes. */
  readonly bill: boolean;
  /** The folder of another checkout whose built service is loaded; this one's by default. */
  readonly build: string | undefined;
};

/** A service that runs already. */
export type OwnService = {
  readonly kind: 'own';
  readonly url: string;
  readonly key: string;
  readonly retailerId: string | undefined;
  readonly pickup: string | undefined;
  /** Whether orders may cost money. */
  readonly realOrders: boolean;
};

type Given = {
  readonly api?: number;
  readonly bill?: boolean;
  readonly build?: string;
  readonly url?: string;
  readonly key?: string;
  readonly retailer?: string;
  readonly pickup?: string;
  readonly realOrders?: boolean;
  readonly json?: boolean;
  readonly plot?: string;
  readonly small?: boolean;
};
type Write = (text: string) => void;

export const MAX_APIS = 16;

/**
 * Reads the arguments of the command.
 *
 * @param out where `--help` goes
 * @param err where a sentence about what is wrong goes
 * @throws CommanderError with the exit code, after `--help` and after a mistake, which is told by then
 */
export function readCommand(
  args: readonly string[],
  out: Write = (text) => process.stdout.write(text),
  err: Write = (text) => process.stderr.write(text),
): LoadCommand {
  const program = new Command('npm run load --')
    .description(
      [
        'Measures what the service takes, in under 90 s: starts the built service with a throwaway Postgres, and a',
        'Redis where a redis-server is on the PATH, sends orders, checks every reply, and removes everything.',
        'With --url it loads a service that runs already.',
      ].join(' '),
    )
    .option('--api <n>', `API processes, 1 to ${MAX_APIS}; more than one needs Redis (default: 1)`, apis)
    .option('--bill', 'print what one order causes instead: statements, rows, WAL, Redis, functions')
    .option('--build <folder>', 'load the built service of another checkout, in this folder', builtFolder)
    .option('--url <url>', 'load a service of your own, at this address, with --key', address)
    .option('--key <key>', 'with --url: the API key of the store whose orders are created')
    .option('--retailer <id>', "with --url: the store's retailer_id (default: that of the sandbox in .data)")
    .option('--pickup <address>', "with --url: the store's registered address (default: that of an earlier order)")
    .option('--real-orders', 'with --url: load a service that is no sandbox, whose orders are real and charged')
    .option('--json', 'print the figures as JSON; progress goes to standard error in any case')
    .option('--plot <file>', 'write latency by percentile to this SVG file', plotFile)
    .addOption(new Option('--small', 'few drivers and a second for each figure, to see that it works'))
    .helpOption('--help', 'print this')
    .exitOverride()
    .configureOutput({ writeOut: out, writeErr: err });
  program.parse([...args], { from: 'user' });
  const given = program.opts<Given>();
  const { small = false, json = false, plot } = given;
  return { target: targetOf(given, (problem) => program.error(`error: ${problem}`)), small, json, plot };
}

function targetOf(given: Given, wrong: (problem: string) => never): LoadCommand['target'] {
  const { api = 1, bill = false, build, url, key, retailer, pickup, realOrders = false } = given;
  if (url === undefined) {
    const needsUrl = Object.entries({ key, retailer, pickup, 'real-orders': given.realOrders });
    const [unused] = needsUrl.flatMap(([name, value]) => (value === undefined ? [] : [name]));
    if (unused !== undefined) wrong(`option '--${unused}' goes with '--url'`);
    return { kind: 'throwaway', apis: api, bill, build };
  }
  if (given.api !== undefined) wrong("option '--api' does not go with '--url', whose service runs already");
  if (build !== undefined) wrong("option '--build' does not go with '--url', whose service runs already");
  if (bill) wrong("option '--bill' does not go with '--url', whose tables are not known");
  if (key === undefined) wrong("option '--url' needs '--key', the API key of the store whose orders are created");
  return { kind: 'own', url, key, retailerId: retailer, pickup, realOrders };
}

function apis(text: string): number {
  const count = Number(text);
  if (!/^\d+$/.test(text) || count < 1 || count > MAX_APIS) {
    throw new InvalidArgumentError(`It must be a whole number from 1 to ${MAX_APIS}.`);
  }
  return count;
}

function address(text: string): string {
  if (!URL.canParse(text) || !/^https?:$/.test(new URL(text).protocol)) {
    throw new InvalidArgumentError('It must begin with http:// or https://.');
  }
  return text.replace(/\/+$/, '');
}

function builtFolder(text: string): string {
  const folder = resolve(text);
  if (!existsSync(join(folder, 'dist/.build-hash'))) throw new InvalidArgumentError('No service is built there.');
  return folder;
}

/** Found wrong at once, not after the run. */
function plotFile(text: string): string {
  const file = resolve(text);
  if (!existsSync(dirname(file))) throw new InvalidArgumentError(`There is no folder ${dirname(file)}.`);
  if (existsSync(file) && statSync(file).isDirectory()) throw new InvalidArgumentError('It is a folder.');
  return file;
}
