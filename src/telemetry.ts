import { pino } from 'pino';
import { Registry } from 'prom-client';

/**
 * What a log line may hold: ids, counts, durations, codes. Never a name, a phone, an address or a secret, so errors
 * are reduced to their name, code and place: messages of databases and vendors quote the values they were given.
 */
type LogFields = Record<string, string | number | boolean | null | undefined | ErrorFields>;
type ErrorFields = { name: string; code?: string; at?: string };

export type Logger = {
  debug(fields: LogFields, message: string): void;
  info(fields: LogFields, message: string): void;
  warn(fields: LogFields, message: string): void;
  error(fields: LogFields, message: string): void;
};

/** A logger of JSON lines on standard error. Levels as in pino, `silent` included. */
export function createLogger(level: string): Logger {
  return pino({ level, base: { pid: process.pid } }, pino.destination({ dest: 2, sync: true }));
}

/** What may be logged of an error: its class, its code and the first place of ours in its stack, not its message. */
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
 * Calls `tell` at most once in `everyMs`: a dependency that is away fails many times a second and says the same.
 *
 * @param now a clock in milliseconds that only goes forward
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

/** A registry of its own for each service, so that two in one process (tests) do not mix their figures. */
export function createMetrics(): Registry {
  return new Registry();
}
