/**
 * The headers of every tracking page: only our own files and the map's tiles load, nothing is cached, and no
 * site is told where the visitor comes from. `data:` images are Leaflet's (an empty pixel and its icons); its
 * inline styles are set by script, which the policy allows.
 *
 * @param tileUrl the map's tile template, or null for none
 * @param publicUrl where customers reach the service
 * @param inline the hash of a script that stands in the page itself
 */
export function pageHeaders(
  tileUrl: string | null,
  publicUrl: string | null,
  inline = '',
): Readonly<Record<string, string>> {
  const tiles = tileUrl === null ? '' : tileSource(tileUrl);
  const policy = [
    "default-src 'none'",
    `script-src 'self' ${inline}`.trim(),
    "style-src 'self'",
    `img-src 'self' data: ${tiles}`.trim(),
    `connect-src 'self' ${socketOrigin(publicUrl)}`.trim(),
    "form-action 'none'",
    "frame-ancestors 'none'",
    "base-uri 'none'",
  ];
  return {
    'Content-Type': 'text/html; charset=utf-8',
    'Cache-Control': 'no-store',
    'Content-Security-Policy': policy.join('; '),
    'Referrer-Policy': 'no-referrer',
    'X-Frame-Options': 'DENY',
    'X-Robots-Tag': 'noindex, nofollow',
    'Cross-Origin-Opener-Policy': 'same-origin',
    'Permissions-Policy': 'camera=(), geolocation=(), microphone=()',
  };
}

/**
 * The service's WebSocket as a policy names it, since older Safaris do not count it as `'self'`; empty
 * without a URL.
 */
export function socketOrigin(publicUrl: string | null): string {
  return publicUrl === null ? '' : new URL(publicUrl).origin.replace(/^http/, 'ws');
}

/** The origin of a tile template as a policy names it, `{s}` as a wildcard; empty for a path of our own. */
export function tileSource(tileUrl: string): string {
  if (/^\/(?!\/)/.test(tileUrl)) return '';
  const origin = /^(https?:\/\/)((?:\{s\}\.)?[\w.-]+(?::\d+)?)\//.exec(tileUrl);
  if (!origin?.[1] || !origin[2]) throw new Error('a tile URL looks like https://host/{z}/{x}/{y}.png');
  return origin[1] + origin[2].replace('{s}', '*');
}
