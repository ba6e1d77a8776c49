import { ServiceError } from '../domain/errors.ts';
import { bytes } from '../transport/reply.ts';
import type { Reply } from '../transport/route.ts';
import { asAvailable } from './outcomes.ts';

const NO_PHOTO_NOW = 'The photo cannot be fetched right now; please try again.';

/**
 * The photo of a handover as a reply.
 *
 * @param missing the message where there is none
 * @throws {ServiceError} `not_found`, or `unavailable` where the storage cannot be asked
 */
export async function photoReply(
  photo: Promise<Buffer | null>,
  missing: string,
  headers: Readonly<Record<string, string>>,
): Promise<Reply> {
  const jpeg = await asAvailable(photo, NO_PHOTO_NOW);
  if (!jpeg) throw new ServiceError('not_found', missing);
  return bytes(200, 'image/jpeg', jpeg, headers);
}
