import { ServiceError } from '../domain/errors.ts';
import type { BodyReader } from './body.ts';
import { tooLarge } from './body-head.ts';
import type { SharedPool } from './shares.ts';

/**
 * The whole body, or null where its client left.
 *
 * @param waiting the requests whose body is still to come, by caller
 * @throws {ServiceError} `payload_too_large`; `unavailable` where the process or the caller's share has no room
 *   for it, or too many bodies of the caller are on their way
 */
export async function receiveBody(body: BodyReader, caller: string, waiting: SharedPool): Promise<Buffer | null> {
  if (!body.admit(caller)) throw noRoom();
  const isCounted = body.isWaiting && waiting.take(caller, 1);
  // What came in one piece with its head is handed over after the head, and waits for nothing.
  if (body.isWaiting && !isCounted) await new Promise((resolve) => setImmediate(resolve));
  if (body.isWaiting && !isCounted) throw noRoom();
  const outcome = await body.outcome;
  if (isCounted) waiting.giveBack(caller, 1);
  switch (outcome.kind) {
    case 'complete':
      return outcome.bytes;
    case 'too_large':
      throw tooLarge(body.maxBytes);
    case 'no_room':
      throw noRoom();
    case 'gone':
      return null;
  }
}

function noRoom(): ServiceError {
  return new ServiceError('unavailable', 'Too many uploads are at work. Try again in a moment.');
}
