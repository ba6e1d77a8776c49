/** A pair of keys of RFC 8292 (VAPID) in base64url, with which the service signs its pushes. */
export type PushKeys = { readonly publicKey: string; readonly privateKey: string };

/** Where a phone is rung: the address of its vendor, and its keys in base64url (RFC 8291). */
export type PushSubscription = { readonly endpoint: string; readonly p256dh: string; readonly auth: string };

/** All that a push says, since it passes through the vendor of the phone: `given` rings, `taken` is silent. */
export const PUSH_KINDS = ['given', 'taken'] as const;
export type PushKind = (typeof PUSH_KINDS)[number];
