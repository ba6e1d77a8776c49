import { readFileSync } from 'node:fs';
import { MAX_OPEN_CONNECTIONS, OPEN_FILES_KEPT } from '../limits.ts';
import type { Logger } from '../telemetry.ts';

/**
 * How many connections the process may take by its limit of open files, which leaves room for those that it
 * opens itself: without it a flood would cut the service from its database. Node has raised the limit to the
 * hard one before.
 *
 * @param limits the text of `/proc/self/limits`; null where the system has none, and nothing is bounded
 * @param level of the line that says that the limit bounds them
 */
export function connectionsWithin(limits: string | null, logger: Logger, level: 'info' | 'warn'): number {
  const files = Number(/^Max open files +(\d+)/m.exec(limits ?? '')?.[1] ?? Number.POSITIVE_INFINITY);
  const connections = Math.min(MAX_OPEN_CONNECTIONS, files - Math.min(OPEN_FILES_KEPT, Math.floor(files / 2)));
  if (connections < MAX_OPEN_CONNECTIONS) {
    logger[level]({ open_files: files, connections }, 'the limit of open files bounds the connections');
  }
  return connections;
}

/** The limits of this process as Linux tells them; null elsewhere. */
export function readLimits(): string | null {
  try {
    return readFileSync('/proc/self/limits', 'utf8');
  } catch {
    return null;
  }
}
