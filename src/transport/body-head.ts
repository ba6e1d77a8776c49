import { ServiceError } from '../domain/errors.ts';
import { isMediaType, type ReadHead } from './request.ts';
import type { Route } from './route.ts';

/**
 * Checks what a request's head says of its body against what the route takes.
 *
 * @throws {ServiceError} `unsupported_media_type`, `payload_too_large`
 */
export function checkBodyHead(taken: Route['body'], { head, announcedBytes }: ReadHead): void {
  if (!taken || (taken.optional && announcedBytes === 0)) return;
  if (!isMediaType(head.header('content-type'), taken.contentTypes)) {
    const message = `The Content-Type must be ${taken.contentTypes.join(' or ')}, with no charset but utf-8.`;
    throw new ServiceError('unsupported_media_type', message);
  }
  const encoding = head.header('content-encoding')?.trim().toLowerCase() ?? '';
  if (encoding !== '' && encoding !== 'identity') {
    const message = 'A Content-Encoding such as gzip is not supported. Send the body as it is.';
    throw new ServiceError('unsupported_media_type', message);
  }
  if ((announcedBytes ?? 0) > taken.maxBytes) throw tooLarge(taken.maxBytes);
}

export function tooLarge(maxBytes: number): ServiceError {
  return new ServiceError('payload_too_large', `The body is larger than ${maxBytes} bytes.`);
}
