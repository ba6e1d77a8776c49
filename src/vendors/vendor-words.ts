import { escapeUnseen } from '../domain/text.ts';
import { MAX_VENDOR_WORDS_LENGTH } from '../limits.ts';

/** What a vendor says of a refusal, for the operator: on one line, and cut. Undefined where it says nothing. */
export function vendorWords(said: unknown): string | undefined {
  if (typeof said !== 'string' || said === '') return undefined;
  return [...escapeUnseen(said)].slice(0, MAX_VENDOR_WORDS_LENGTH).join('');
}
