/** Why an upload is no photo that can be used. */
export type UnusablePhoto = 'too_many_bytes' | 'wrong_format' | 'too_many_pixels' | 'damaged' | 'too_slow';

/** What became of an upload. `busy`: too many photos wait. */
export type StoredPhoto =
  | {
      readonly kind: 'stored';
      readonly name: string;
      /** Whether it shows nothing, which holds the payout. */
      readonly isBlank: boolean;
    }
  | { readonly kind: 'unusable'; readonly reason: UnusablePhoto }
  | { readonly kind: 'busy' };
