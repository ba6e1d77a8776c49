import { rmSync } from 'node:fs';

/** Removes a folder and what is in it. A process that is ending may still add to it, for which some tries are left. */
export function removeFolder(path: string): void {
  rmSync(path, { recursive: true, force: true, maxRetries: 20, retryDelay: 50 });
}
