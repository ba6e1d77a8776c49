import { escapeUnseen } from '../domain/text.ts';

/** Most characters that are kept of a vendor's sentence about a refusal; theirs have up to 300. */
export const MAX_VENDOR_WORDS_LENGTH = 400;

/** What a vendor says of a refusal, for the operator: on one line, and cut. Undefined where it says nothing. */
export function vendorWords(said: unknown): string | undefined {
  if (typeof said !== 'string' || said === '') return undefined;
  return [...escapeUnseen(said)].slice(0, MAX_VENDOR_WORDS_LENGTH).join('');
}
