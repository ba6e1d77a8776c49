import { pino } from 'pino';
import { Registry } from 'prom-client';

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

/** What may be logged of an error: its class, its code, and the first place of its stack in this project. */
export function errorFields(error: unknown): ErrorFields {
  if (!(error instanceof Error)) return { name: typeof error };
  const { code } = error as { code?: unknown };
  const place = error.stack?.split('\n').find((line) => /^\s+at /.test(line) && !line.includes('node_modules'));
  return {
    name: error.name,
    ...(typeof code === 'string' || typeof code === 'number' ? { code: String(code) } : {}),
    ...(place
      ? {
          at: place
            .trim()
            .replace(/^at /, '')
            .replace(/\(?file:\/\/.*\/(dist|src)\//, '($1/'),
        }
      : {}),
  };
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
