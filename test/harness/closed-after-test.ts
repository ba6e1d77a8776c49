import type { Server } from 'node:net';
import { onTestFinished } from 'vitest';
import { type Listening, listen } from './listen.ts';

/** What the running test has opened; it is closed when that is over. */
export function closedAfterTest<Opened extends { close(): unknown }>(opened: Opened): Opened {
  onTestFinished(async () => void (await opened.close()));
  return opened;
}

/** Has a server listen on a free port of this machine until the running test is over. */
export async function listenInTest(server: Server): Promise<Listening> {
  return closedAfterTest(await listen(server));
}
