import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type Assets, loadAssets } from '../../src/pages/assets.ts';
import { pageHeaders, tileSource } from '../../src/pages/page-headers.ts';
import { trackingRoutes } from '../../src/tracking/routes.ts';
import { replyOf } from '../http/support.ts';
import { assigned, behind, delivered, matcherAt, NOW_MS, pickedUp, TOKEN } from './orders.ts';

let directory: string;
let assets: Assets;
beforeAll(() => {
  directory = mkdtempSync(join(tmpdir(), 'sameday-web-'));
  writeFileSync(join(directory, 'track-AAAA.js'), 'let text = "of the page";'.repeat(20));
  writeFileSync(join(directory, 'track-BBBB.css'), 'body{}');
  writeFileSync(join(directory, 'icon-CCCC.svg'), '<svg/>');
  const manifest = { 'track.js': 'track-AAAA.js', 'track.css': 'track-BBBB.css', 'icon.svg': 'icon-CCCC.svg' };
  writeFileSync(join(directory, 'manifest.json'), JSON.stringify(manifest));
  assets = loadAssets(directory);
});
afterAll(() => rmSync(directory, { recursive: true }));

function routes(order: ReturnType<typeof assigned> | Error | null, settings: { sandbox?: boolean } = {}) {
  const failures: unknown[] = [];
  const lookups: string[] = [];
  const made = trackingRoutes({
    store: {
      async findTrackedByToken(token) {
        lookups.push(token);
        if (order instanceof Error) throw order;
        return token === TOKEN ? order : null;
      },
    },
    matcher: matcherAt({ lat: 40.74567, lng: -73.98765, atMs: NOW_MS }),
    photos: { find: async () => null },
    changeDropoff: async () => false,
    assets,
    settings: { tileUrl: null, tileAttribution: '', sandbox: settings.sandbox ?? false },
    publicUrl: 'https://track.example',
    now: () => NOW_MS,
    failed: (error) => failures.push(error),
  });
  return {
    page: (token: string, language = '') => replyOf(made, '/track/:token', token, { 'accept-language': language }),
    status: (token: string) => replyOf(made, '/track/:token/status', token),
    asset: (name: string, acceptEncoding: string) =>
      replyOf(made, '/assets/:name', name, { 'accept-encoding': acceptEncoding }),
    failures,
    lookups,
  };
}

it('looks a link up once for all who ask for it at once, and anew for who asks later', async () => {
  const { page, status, lookups } = routes(pickedUp());
  await Promise.all([page(TOKEN), status(TOKEN), status(TOKEN), page('x'.repeat(24))]);
  expect(lookups).toEqual([TOKEN, 'x'.repeat(24)]);
  await status(TOKEN);
  expect(lookups).toHaveLength(3);
});

describe('the page', () => {
  it('says the essentials in its markup', async () => {
    const { status, body } = await routes(pickedUp()).page(TOKEN);
    expect(status).toBe(200);
    expect(body).toContain('<h1 id="headline">Ana is on the way with your order</h1>');
    expect(body).toContain('Corner Books');
    expect(body).toContain('14:20 UTC');
    expect(body).toContain('aria-current="step"');
    expect(body).toContain('<meta http-equiv="refresh" content="30">');
  });

  it('speaks the language that its reader asks for, and says that it depends on it', async () => {
    const { page } = routes(pickedUp({ onRoute: behind(2) }));
    const spanish = await page(TOKEN, 'fr-CA, es-MX;q=0.8, en;q=0.5');
    expect(spanish.body).toContain('<html lang="es">');
    expect(spanish.body).toContain('<h1 id="headline">El pedido está en reparto</h1>');
    expect(spanish.body).toContain('2 paradas antes de esta');
    expect(spanish.headers?.Vary).toBe('Accept-Language');
    const other = await page(TOKEN, 'fr, de;q=0.5, es;q=0');
    expect(other.body).toContain('<html lang="en">');
    expect(other.body).toContain('2 stops before you');
    expect((await routes(null).page(TOKEN, 'es')).body).toContain('Este enlace no se conoce');
    const gone = delivered({ deliveredAt: '2025-01-01T00:00:00.000Z' });
    expect((await routes(gone).page(TOKEN, 'es')).body).toContain('Este enlace venció');
    expect((await routes(new Error('away')).page(TOKEN, 'es')).body).toContain('La entrega sigue.');
  });

  it('says of each step whether it is done, for those who do not see it', async () => {
    const body = String((await routes(pickedUp()).page(TOKEN)).body);
    const steps = [...body.matchAll(/<span class="label">(.*?)<span class="unseen">(.*?)<\/span>/g)];
    expect(steps.map(([, label, state]) => `${label}${state}`.trim())).toEqual([
      'Ordered, done',
      'Driver assigned, done',
      'Picked up, done',
      'Delivered, not yet',
    ]);
  });

  it('holds no style of its own, and no script but the one that says that another did not load', async () => {
    const body = String((await routes(delivered()).page(TOKEN)).body);
    expect(body.match(/<script[^>]*>/g)).toEqual(['<script>', '<script type="module" src="/assets/track-AAAA.js">']);
    expect(body).not.toMatch(/<style|\sstyle=|\son\w+=/);
    // It hears of no style sheet that failed before it.
    expect(body.indexOf('<script>')).toBeLessThan(body.indexOf('track-BBBB.css'));
  });

  it('shows what a person typed as text', async () => {
    const evil = `"><img src=x onerror=alert(1)>'&amp;`;
    const body = String((await routes(pickedUp({ storeName: evil, driverFirstName: '<b>' })).page(TOKEN)).body);
    expect(body).not.toContain('<img');
    expect(body).not.toContain('<b>');
    expect(body).toContain('&quot;&gt;&lt;img src=x onerror=alert(1)&gt;&#39;&amp;amp;');
  });

  it('says sandbox in the sandbox only', async () => {
    expect((await routes(pickedUp(), { sandbox: true }).page(TOKEN)).body).toContain('>Sandbox</span>');
    expect((await routes(pickedUp()).page(TOKEN)).body).not.toContain('Sandbox');
  });

  it('is a plain 404 for an unknown or malformed token and a 410 for an order long over', async () => {
    const unknown = await routes(null).page(TOKEN);
    expect([unknown.status, String(unknown.body).includes('This link is not known')]).toEqual([404, true]);
    expect((await routes(pickedUp()).page('<script>')).status).toBe(404);
    const over = await routes(delivered({ deliveredAt: '2025-01-01T00:00:00.000Z' })).page(TOKEN);
    expect([over.status, String(over.body).includes('This link has expired')]).toEqual([410, true]);
  });

  it('is a plain 503 that loads itself again where the database cannot be asked', async () => {
    const broken = routes(new Error('secret detail'));
    const reply = await broken.page(TOKEN);
    expect(reply.status).toBe(503);
    expect(reply.body).toContain('http-equiv="refresh"');
    expect(reply.body).not.toContain('secret');
    expect(reply.headers).toEqual((await routes(null).page(TOKEN)).headers);
    expect(broken.failures).toHaveLength(1);
    await expect(broken.status(TOKEN)).rejects.toThrow();
  });
});

it('answers the status as JSON with the same view', async () => {
  const { status, body } = await routes(assigned()).status(TOKEN);
  expect([status, JSON.parse(String(body))]).toMatchObject([
    200,
    { success: true, order: { sequence: 2, driver: { position: { lat: 40.75 } } } },
  ]);
  await expect(routes(null).status(TOKEN)).rejects.toMatchObject({ code: 'not_found' });
  const over = delivered({ deliveredAt: '2025-01-01T00:00:00.000Z' });
  await expect(routes(over).status(TOKEN)).rejects.toMatchObject({ code: 'gone' });
});

describe('the security policy', () => {
  const policyOf = (tileUrl: string | null) =>
    pageHeaders(tileUrl, 'https://track.example/base')['Content-Security-Policy'];

  it('allows nothing but our own files, our socket and the tiles', () => {
    expect(policyOf('https://{s}.tiles.example:8443/{z}/{x}/{y}.png')).toBe(
      "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data: https://*.tiles.example:8443; " +
        "connect-src 'self' wss://track.example; form-action 'none'; frame-ancestors 'none'; base-uri 'none'",
    );
    expect(policyOf(null)).toContain("img-src 'self' data:;");
  });

  it('takes no tile URL that could add to the policy', () => {
    expect(tileSource('/tiles/{z}/{x}/{y}.png')).toBe('');
    for (const url of ['//evil.example/{z}', 'https://a b/{z}/{x}', 'https://x; script-src *;/', 'javascript:1', '']) {
      expect(() => tileSource(url)).toThrow();
    }
  });
});

describe('the files of the page', () => {
  it('come gzipped to whoever takes that', async () => {
    const { headers } = await routes(null).asset('track-AAAA.js', 'gzip');
    expect(headers?.['Content-Encoding']).toBe('gzip');
  });

  it('are those of the build and no others', async () => {
    for (const name of ['manifest.json', '../package.json', 'nothing.js', '']) {
      expect(assets.serve(name, '')).toBeNull();
      await expect(routes(null).asset(name, '')).rejects.toMatchObject({ code: 'not_found' });
    }
  });
});
