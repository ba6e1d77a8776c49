import { expect, test } from 'vitest';
import { within } from '../../../src/web/shared/within.ts';

const untilAborted = (signal: AbortSignal): Promise<void> =>
  new Promise((_, reject) => {
    if (signal.aborted) reject(signal.reason);
    signal.addEventListener('abort', () => reject(signal.reason));
  });

test('work ends at once by another signal, also by one that was given before', async () => {
  const other = new AbortController();
  const first = within(60_000, untilAborted, other.signal);
  other.abort();
  await expect(first).rejects.toThrow('aborted');
  await expect(within(60_000, untilAborted, other.signal)).rejects.toThrow('aborted');
});
