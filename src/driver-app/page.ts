import { createHash } from 'node:crypto';
import type { Assets } from '../pages/assets.ts';
import { pageHeaders, socketOrigin } from '../pages/page-headers.ts';
import { RELOAD_SOURCE } from '../pages/reload.ts';
import { anyone, type Reply, type Route } from '../transport/route.ts';
import { driverShell } from './shell.ts';

/** The colour behind the page before its style sheet is there, by day. */
const GROUND = '#ffffff';
const BRAND = '#0b5f58';

/**
 * The driver's page, made once and the same for everybody: its shell at `GET /driver`, which holds no
 * driver's data, what a phone needs to install it, and the service worker, which keeps the shell for when
 * there is no network.
 *
 * @param parts.publicUrl where drivers reach the service, for the page's security policy
 */
export function driverPageRoutes(parts: {
  readonly assets: Assets;
  readonly sandbox: boolean;
  readonly publicUrl: string | null;
}): Route<null>[] {
  const { assets } = parts;
  const files = {
    script: assets.path('driver.js'),
    style: assets.path('driver.css'),
    icon: assets.path('driver-icon.svg'),
    // Home screens of iPhones take no SVG.
    touchIcon: assets.path('driver-icon-180.png'),
    largeIcon: assets.path('driver-icon-512.png'),
  };
  const shell = driverShell(files, parts.sandbox);
  const kept = ['/driver', '/driver/manifest.webmanifest', files.script, files.style, files.icon];
  const code = assets.serve(assets.path('driver-worker.js').slice('/assets/'.length), '')?.body ?? '';
  return [
    constant('/driver', shellHeaders(parts.publicUrl), shell),
    constant(
      '/driver/manifest.webmanifest',
      { 'Content-Type': 'application/manifest+json; charset=utf-8', 'Cache-Control': 'no-cache' },
      JSON.stringify(manifestOf(files)),
    ),
    constant(
      '/driver/worker.js',
      {
        'Content-Type': 'text/javascript; charset=utf-8',
        'Cache-Control': 'no-cache',
        // The page's address has no slash at its end, so it lies outside of the worker's default scope.
        'Service-Worker-Allowed': '/driver',
      },
      withShell(code, shell, kept),
    ),
  ];
}

function constant(pattern: string, headers: Readonly<Record<string, string>>, body: string): Route<null> {
  const reply: Reply = { status: 200, headers, body };
  return { method: 'get', pattern, authenticate: anyone, handle: () => reply };
}

/**
 * The worker with the list of files that it keeps. Its bytes change with the shell's, by which a browser
 * notices a new one.
 */
function withShell(code: string | Buffer, shell: string, kept: readonly string[]): string {
  const version = createHash('sha256').update(shell).update(kept.join()).digest('hex').slice(0, 16);
  return `self.SHELL=${JSON.stringify({ version, paths: kept })};\n${code.toString()}`;
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

/** Only our files, RELOAD_SCRIPT and the preview of a photo load, and only this page may use camera and position. */
function shellHeaders(publicUrl: string | null): Readonly<Record<string, string>> {
  const policy = [
    "default-src 'none'",
    `script-src 'self' ${RELOAD_SOURCE}`,
    "style-src 'self'",
    "img-src 'self' blob:",
    `connect-src 'self' ${socketOrigin(publicUrl)}`.trim(),
    "manifest-src 'self'",
    "worker-src 'self'",
    "form-action 'none'",
    "frame-ancestors 'none'",
    "base-uri 'none'",
  ];
  return {
    ...pageHeaders(null, publicUrl),
    'Cache-Control': 'no-cache',
    'Content-Security-Policy': policy.join('; '),
    'Permissions-Policy': 'camera=(self), geolocation=(self), screen-wake-lock=(self), microphone=()',
  };
}
