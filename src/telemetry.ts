import { pino } from 'pino';
import { Registry } from 'prom-client';
import { placeInProject } from './error-place.ts';
import { below } from './limits.ts';

/** Bytes that are written at once. A pipe keeps writes of up to 4,096 bytes whole beside other writers'. */
const REQUEST_LOG_WRITE_BYTES = 4_096;
/** Interval at which what is gathered is written, and so the most that a killed process loses. */
const REQUEST_LOG_FLUSH_MS = 250;
/** Most bytes gathered while nobody reads. Above REQUEST_LOG_WRITE_BYTES. */
const REQUEST_LOG_BYTES = 1024 * 1024;

below({ REQUEST_LOG_WRITE_BYTES }, { REQUEST_LOG_BYTES });

/**
 * The fields of a log line: ids, counts, durations, codes. Never a name, a phone, an address or a secret, so
 * an error is reduced to its name, code and place: the messages of databases and vendors quote the values
 * they were given.
 */
type LogFields = Record<string, string | number | boolean | null | undefined | ErrorFields>;
type ErrorFields = { name: string; code?: string; at?: string };

export type Logger = {
  debug(fields: LogFields, message: string): void;
  info(fields: LogFields, message: string): void;
  warn(fields: LogFields, message: string): void;
  error(fields: LogFields, message: string): void;
};

/** A logger of JSON lines on standard error. The levels are pino's, `silent` included. */
export function createLogger(level: string): Logger {
  return pino({ level, base: { pid: process.pid } }, pino.destination({ dest: 2, sync: true }));
}

/**
 * A logger for many lines: they are gathered, so that no request waits for whoever reads them. An exit writes
 * the rest; a process that is killed loses what came within REQUEST_LOG_FLUSH_MS. While nobody reads,
 * REQUEST_LOG_BYTES are kept, and further lines are dropped.
 */
export function createGatheringLogger(): Pick<Logger, 'info'> {
  const destination = pino.destination({
    dest: 2,
    sync: false,
    minLength: REQUEST_LOG_WRITE_BYTES - 1,
    maxWrite: REQUEST_LOG_WRITE_BYTES,
    maxLength: REQUEST_LOG_BYTES,
    periodicFlush: REQUEST_LOG_FLUSH_MS,
  });
  return pino({ base: { pid: process.pid } }, destination);
}

/** What may be logged of an error: its class, its code, and the first place of its stack in this project. */
export function errorFields(error: unknown): ErrorFields {
  if (!(error instanceof Error)) return { name: typeof error };
  const { code } = error as { code?: unknown };
  const place = placeInProject(placesOf(error));
  return {
    name: error.name,
    ...(typeof code === 'string' || typeof code === 'number' ? { code: String(code) } : {}),
    ...(place ? { at: place } : {}),
  };
}

/** The lines of the stack behind the message, which may quote input that looks like one of them. */
function placesOf({ stack = '', message }: Error): string[] {
  const messageAt = stack.indexOf(message);
  return messageAt < 0 ? [] : stack.slice(messageAt + message.length).split('\n');
}

/**
 * Calls `tell` at most once in `everyMs`, as a dependency that is away fails many times a second.
 *
 * @param now a monotonic clock in milliseconds
 */
export function atMostEvery<Args extends unknown[]>(
  everyMs: number,
  tell: (...args: Args) => void,
  now: () => number = () => performance.now(),
): (...args: Args) => void {
  let nextMs = Number.NEGATIVE_INFINITY;
  return (...args) => {
    if (now() < nextMs) return;
    nextMs = now() + everyMs;
    tell(...args);
  };
}

/** A new registry, so that two services in one process (tests) do not share their figures. */
export function createMetrics(): Registry {
  return new Registry();
}
