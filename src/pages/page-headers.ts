/** A reply as a plain value, for whoever speaks HTTP to send. */
export type PageReply = {
  readonly status: number;
  readonly headers: readonly (readonly [name: string, value: string])[];
  readonly body: string | Uint8Array;
};

/**
 * The headers of every page: nothing runs or loads but our own files and the map's tiles, nothing is kept, nobody is
 * told where the visitor comes from. `data:` images are Leaflet's (an empty pixel and its icons); its inline styles are
 * set by script, which the policy allows.
 *
 * @param tileUrl the map's tile template, or null for none
 * @param publicUrl where customers reach the service; older Safaris do not count its WebSocket as `'self'`
 */
export function pageHeaders(tileUrl: string | null, publicUrl: string | null): readonly (readonly [string, string])[] {
  const tiles = tileUrl === null ? '' : tileSource(tileUrl);
  const socket = publicUrl === null ? '' : new URL(publicUrl).origin.replace(/^http/, 'ws');
  const policy = [
    "default-src 'none'",
    "script-src 'self'",
    "style-src 'self'",
    `img-src 'self' data: ${tiles}`.trim(),
    `connect-src 'self' ${socket}`.trim(),
    "form-action 'none'",
    "frame-ancestors 'none'",
    "base-uri 'none'",
  ];
  return [
    ['Content-Type', 'text/html; charset=utf-8'],
    ['Cache-Control', 'no-store'],
    ['Content-Security-Policy', policy.join('; ')],
    ['Referrer-Policy', 'no-referrer'],
    ['X-Frame-Options', 'DENY'],
    ['X-Robots-Tag', 'noindex, nofollow'],
    ['Cross-Origin-Opener-Policy', 'same-origin'],
    ['Permissions-Policy', 'camera=(), geolocation=(), microphone=()'],
  ];
}

/** The origin of a tile template as a policy names it: `{s}` becomes a wildcard, our own path is `'self'` already. */
export function tileSource(tileUrl: string): string {
  if (/^\/(?!\/)/.test(tileUrl)) return '';
  const origin = /^(https?:\/\/)((?:\{s\}\.)?[\w.-]+(?::\d+)?)\//.exec(tileUrl);
  if (!origin?.[1] || !origin[2]) throw new Error('a tile URL looks like https://host/{z}/{x}/{y}.png');
  return origin[1] + origin[2].replace('{s}', '*');
}
