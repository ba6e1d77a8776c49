/** Pure functions that depend on the phone. */

export type Phone = { readonly userAgent: string; readonly maxTouchPoints: number };

/** A link to an address in the phone's maps: `geo:` on Android, Apple's maps on iPhones, else Google's. */
export function mapsLink(address: string, { userAgent, maxTouchPoints }: Phone): string {
  const place = encodeURIComponent(address);
  if (/android/i.test(userAgent)) return `geo:0,0?q=${place}`;
  // An iPad claims to be a Mac, but no Mac has a touch screen.
  const apple = /iphone|ipad|ipod/i.test(userAgent) || (/macintosh/i.test(userAgent) && maxTouchPoints > 1);
  if (apple) return `https://maps.apple.com/?daddr=${place}`;
  return `https://www.google.com/maps/dir/?api=1&destination=${place}`;
}

/** A link that calls a number in E.164 form; null for any other text. */
export function phoneLink(phone: string): string | null {
  return /^\+[1-9]\d{6,14}$/.test(phone) ? `tel:${phone}` : null;
}

type Randomness = { getRandomValues(bytes: Uint8Array<ArrayBuffer>): Uint8Array; randomUUID?: () => string };

/** A random UUID (RFC 9562, version 4), also on a page without https, where browsers offer none. */
export function newActionId(source: Randomness = crypto): string {
  if (source.randomUUID) return source.randomUUID();
  const bytes = source.getRandomValues(new Uint8Array(16));
  bytes[6] = ((bytes[6] ?? 0) & 0x0f) | 0x40;
  bytes[8] = ((bytes[8] ?? 0) & 0x3f) | 0x80;
  const hex = Array.from(bytes, (byte) => byte.toString(16).padStart(2, '0')).join('');
  return hex.replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, '$1-$2-$3-$4-$5');
}
