/**
 * `npm run load`: what the service takes, in one command of under 90 s (`--help` lists its options). It
 * starts the built service with a throwaway Postgres, and a Redis where a redis-server is on the PATH, with
 * 100,000 drivers and 1,000 stores, and sends orders from this process. Everything is removed at the end, and
 * after Ctrl-C.
 *
 * - rates: orders answered with 201 over 1, 10, 100 and 1,000 connections, each of which waits for its reply
 *   (autocannon). The worker charges and texts meanwhile, at stand-ins; replies do not wait for charges.
 * - latencies: at half and at four fifths of the best rate, orders are due at the times of a Poisson process
 *   that no reply delays; a latency counts from when its order was due to the last byte of its reply.
 * - processor time an order by part, read from /proc, with the jobs that were done meanwhile.
 * - beside it, over 100 connections too: the same server that only parses, validates and replies, and the
 *   plain fastify/PostGIS service with its worker.
 *
 * With --url a service that runs already is loaded: rates and latencies alone.
 *
 * The run fails on an error, a time-out, a status other than 201, an answered order that is not in the
 * tables, or a driver with two orders. On a slow machine measurements are shortened, so that the run ends in
 * time.
 */
import { writeFileSync } from 'node:fs';
import { CommanderError } from 'commander';
import { findRedisServer } from '../../test/harness/redis.ts';
import { machineHere, versionHere } from '../../test/harness/report.ts';
import { measureBill } from './bill.ts';
import { type Curve, counted, type Figures, type Run } from './figures.ts';
import { type LoadCommand, readCommand } from './options.ts';
import { loadOwn, NotUsable } from './own-service.ts';
import { plotSvg } from './plot.ts';
import { openProgress, type Progress } from './progress.ts';
import { type About, reportJson, reportText } from './report.ts';
import { FULL, SMALL } from './sizes.ts';
import { loadThrowaway } from './throwaway.ts';

/** When the run should end, counted from its start. Under 90 s, with what a busy machine adds. */
const END_MS = 84_000;
/** When a run that hangs is stopped. */
const MOST_MS = 600_000;
/** Time for output to be written before the process is ended. */
const EXIT_MS = 5_000;
/** The exit codes of shells for a program that was stopped by these signals. */
const STOPPED = { SIGINT: 130, SIGTERM: 143, SIGHUP: 129 } as const;

async function main(): Promise<void> {
  const command = readCommand(process.argv.slice(2));
  if (command.target.kind === 'throwaway' && command.target.apis > 1 && findRedisServer() === undefined) {
    throw new NotUsable('--api needs a redis-server on the PATH: without Redis one API process serves a database.');
  }
  // A Redis of the operator's own is never touched.
  delete process.env.REDIS_URL;
  const progress = openProgress();
  const { signal, isStopped } = onSignals(progress);
  try {
    if (command.target.kind === 'throwaway' && command.target.bill) {
      process.stdout.write(await billOf(command, signal, progress));
      return;
    }
    const { figures, curves } = await measure(command, signal, progress);
    progress.end();
    tell(command, figures, curves);
  } catch (error) {
    progress.end();
    if (!isStopped()) throw error;
    process.stderr.write('Stopped. Nothing was left behind.\n');
  }
}

async function measure(
  { target, small }: LoadCommand,
  signal: AbortSignal,
  progress: Progress,
): Promise<{ readonly figures: Figures; readonly curves: readonly Curve[] }> {
  const faults: string[] = [];
  const blame = (what: string, found: readonly string[]): void => {
    faults.push(...counted(found).map((fault) => `${what}: ${fault}`));
  };
  const run: Run = { signal, blame, say: (text) => signal.aborted || progress.say(text) };
  const sizes = small ? SMALL : FULL;
  // A small run has no parts to shorten where the machine is slow.
  const endMs = small ? MOST_MS : END_MS;
  const { figures, curves } =
    target.kind === 'own' ? await loadOwn(run, sizes, target) : await loadThrowaway(run, sizes, target, endMs);
  return { figures: { ...figures, faults }, curves };
}

async function billOf({ small }: LoadCommand, signal: AbortSignal, progress: Progress): Promise<string> {
  const bill = await measureBill({ signal, say: (text) => progress.say(text) }, small ? SMALL : FULL);
  progress.end();
  return bill;
}

function tell({ json, plot }: LoadCommand, figures: Figures, curves: readonly Curve[]): void {
  const date = new Date().toISOString().slice(0, 10);
  const title = `Sameday ${versionHere()} under load, ${date}; ${machineHere()}; Node ${process.version}`;
  const about: About = { title, seconds: performance.now() / 1_000 };
  process.stdout.write(json ? reportJson(about, figures) : reportText(about, figures));
  if (plot !== undefined) {
    writeFileSync(plot, plotSvg(`Sameday ${versionHere()}: latency by percentile`, curves));
    process.stderr.write(`Wrote ${plot}\n`);
  }
  if (figures.faults.length > 0) process.exitCode = 1;
}

/** Ends the run on a signal, or where it hangs; what was started is stopped in its order. */
function onSignals(progress: Progress): { readonly signal: AbortSignal; isStopped(): boolean } {
  const controller = new AbortController();
  let stopped = false;
  for (const [signal, code] of Object.entries(STOPPED)) {
    process.on(signal, () => {
      if (stopped) return;
      stopped = true;
      process.exitCode = code;
      progress.say(`stopping, after ${signal}: what was started is removed`);
      controller.abort(new Error(`stopped by ${signal}`));
    });
  }
  const late = new Error(`The run was stopped after ${MOST_MS / 1_000} s.`);
  setTimeout(() => controller.abort(late), MOST_MS).unref();
  return { signal: controller.signal, isStopped: () => stopped };
}

try {
  await main();
} catch (error) {
  const told = error instanceof CommanderError;
  process.exitCode = told ? error.exitCode : 1;
  if (!told) process.stderr.write(`${error instanceof NotUsable ? error.message : failure(error)}\n`);
}
setTimeout(() => process.exit(), EXIT_MS).unref();

function failure(error: unknown): string {
  return `The run failed, and nothing was left behind: ${error instanceof Error ? error.stack : String(error)}`;
}
