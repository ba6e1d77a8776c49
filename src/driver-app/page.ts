import { createHash } from 'node:crypto';
import type { Assets } from '../pages/assets.ts';
import type { PageReply } from '../pages/page-headers.ts';
import { driverShell } from './shell.ts';

/** The colour behind the page before its style sheet is there, by day. */
const GROUND = '#ffffff';
const BRAND = '#0b5f58';

export type DriverPageRoutes = {
  /** `GET /driver`: the page's shell, the same for everybody; it holds nothing of any driver. */
  page(): PageReply;
  /** `GET /driver/manifest.webmanifest`: what a phone needs to install the page. */
  manifest(): PageReply;
  /** `GET /driver/worker.js`: the service worker, which keeps the shell for when there is no network. */
  worker(): PageReply;
};

/**
 * What HTTP serves of the driver's page, made once.
 *
 * @param deps.publicUrl where drivers reach the service; older Safaris do not count its WebSocket as `'self'`
 */
export function createDriverPageRoutes(deps: {
  readonly assets: Assets;
  readonly sandbox: boolean;
  readonly publicUrl: string | null;
}): DriverPageRoutes {
  const { assets } = deps;
  const files = {
    script: assets.path('driver.js'),
    style: assets.path('driver.css'),
    icon: assets.path('driver-icon.svg'),
    // Home screens of iPhones take no SVG.
    touchIcon: assets.path('driver-icon-180.png'),
    largeIcon: assets.path('driver-icon-512.png'),
  };
  const shell = driverShell(files, deps.sandbox);
  const kept = ['/driver', '/driver/manifest.webmanifest', files.script, files.style, files.icon];
  const code = assets.serve(assets.path('driver-worker.js').slice('/assets/'.length), '')?.body ?? '';
  const worker = withShell(code, shell, kept);
  const manifest = JSON.stringify(manifestOf(files));
  return {
    page: () => ({ status: 200, headers: shellHeaders(deps.publicUrl), body: shell }),
    manifest: () => reply('application/manifest+json; charset=utf-8', manifest),
    // The page's own address has no slash at its end, so it lies outside of what the worker's folder would allow.
    worker: () => reply('text/javascript; charset=utf-8', worker, [['Service-Worker-Allowed', '/driver']]),
  };
}

/** The worker with the list of what it keeps; its bytes change with the shell's, which is how a browser sees a new one. */
function withShell(code: string | Uint8Array, shell: string, kept: readonly string[]): string {
  const version = createHash('sha256').update(shell).update(kept.join()).digest('hex').slice(0, 16);
  return `self.SHELL=${JSON.stringify({ version, paths: kept })};\n${Buffer.from(code).toString('utf8')}`;
}

function manifestOf(files: { readonly icon: string; readonly largeIcon: string }): object {
  return {
    id: '/driver',
    name: 'Sameday driver',
    short_name: 'Driver',
    description: 'Orders for drivers: pick up, deliver, done.',
    lang: 'en',
    start_url: '/driver',
    scope: '/driver',
    display: 'standalone',
    orientation: 'portrait',
    background_color: GROUND,
    theme_color: BRAND,
    icons: [
      { src: files.icon, sizes: 'any', type: 'image/svg+xml', purpose: 'any' },
      { src: files.icon, sizes: 'any', type: 'image/svg+xml', purpose: 'maskable' },
      { src: files.largeIcon, sizes: '512x512', type: 'image/png', purpose: 'any' },
    ],
  };
}

function reply(contentType: string, body: string, more: PageReply['headers'] = []): PageReply {
  const headers: PageReply['headers'] = [['Content-Type', contentType], ['Cache-Control', 'no-cache'], ...more];
  return { status: 200, headers, body };
}

/** Nothing runs or loads but our own files and the preview of a photo; camera and position are for this page alone. */
function shellHeaders(publicUrl: string | null): PageReply['headers'] {
  const socket = publicUrl === null ? '' : new URL(publicUrl).origin.replace(/^http/, 'ws');
  const policy = [
    "default-src 'none'",
    "script-src 'self'",
    "style-src 'self'",
    "img-src 'self' blob:",
    `connect-src 'self' ${socket}`.trim(),
    "manifest-src 'self'",
    "worker-src 'self'",
    "form-action 'none'",
    "frame-ancestors 'none'",
    "base-uri 'none'",
  ];
  return [
    ['Content-Type', 'text/html; charset=utf-8'],
    ['Cache-Control', 'no-cache'],
    ['Content-Security-Policy', policy.join('; ')],
    ['Referrer-Policy', 'no-referrer'],
    ['X-Frame-Options', 'DENY'],
    ['X-Robots-Tag', 'noindex, nofollow'],
    ['Cross-Origin-Opener-Policy', 'same-origin'],
    ['Permissions-Policy', 'camera=(self), geolocation=(self), screen-wake-lock=(self), microphone=()'],
  ];
}
