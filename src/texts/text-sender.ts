import type { RetryLater } from '../vendors/retry-later.ts';

export type SendOutcome =
  /** `sid`: the provider's id of the message. */
  | { readonly kind: 'sent'; readonly sid: string }
  /** A definite refusal, with the provider's error code and its own words. */
  | { readonly kind: 'refused'; readonly code: string; readonly says?: string | undefined }
  /** Where it is ambiguous the message may exist: a second send may text twice, so ask `find` first. */
  | RetryLater;

export type TextLookup = { readonly kind: 'found'; readonly sid: string } | { readonly kind: 'not_found' } | RetryLater;

/** A provider of text messages. No method throws for an answer of the provider or the lack of one. */
export type TextSender = {
  /** The sending number. */
  readonly from: string;
  /**
   * Sends one text in one attempt, as sending is not idempotent.
   *
   * @param text.to E.164
   * @param text.usefulSeconds time from which the provider sends it no more, if it has not by then
   * @param text.statusUrl the address that the provider is to call with what becomes of the text; left out
   *   where the provider cannot reach the service, or does not take the address
   */
  send(text: {
    readonly to: string;
    readonly body: string;
    readonly usefulSeconds: number;
    readonly statusUrl?: string | undefined;
  }): Promise<SendOutcome>;
  /**
   * Looks for a text that may have been created at `sinceMs` (milliseconds since 1970) or later, by its
   * ending. What stands before that may be the provider's: a trial account adds a sentence, and some
   * characters are replaced.
   */
  find(text: { readonly to: string; readonly ending: string; readonly sinceMs: number }): Promise<TextLookup>;
  /** Looks for the sending number among those of the account that may text. */
  findSender(): Promise<TextLookup>;
  close(): void;
};
