import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { RELEASE_REASONS, UNDELIVERABLE_REASONS } from '../../src/domain/order.ts';
import { driverPageRoutes } from '../../src/driver-app/page.ts';
import { loadAssets } from '../../src/pages/assets.ts';
import { RELOAD_SCRIPT, RELOAD_SOURCE } from '../../src/pages/reload.ts';
import type { Reply } from '../../src/transport/route.ts';
import { replyOf } from '../http/support.ts';
import { temporaryFolder } from '../sandbox/temporary.ts';

/** The routes over built files whose names end in `hash`. */
function routes(hash = 'AAAA', settings: { sandbox?: boolean; publicUrl?: string | null } = {}) {
  const directory = temporaryFolder();
  const files = ['driver.js', 'driver.css', 'driver-icon.svg', 'driver-icon-180.png', 'driver-icon-512.png'];
  const manifest = Object.fromEntries(files.map((name) => [name, name.replace('.', `-${hash}.`)]));
  for (const name of Object.values(manifest)) writeFileSync(join(directory, name), 'x');
  writeFileSync(join(directory, 'driver-worker-WWWW.js'), 'keep(self.SHELL);');
  manifest['driver-worker.js'] = 'driver-worker-WWWW.js';
  writeFileSync(join(directory, 'manifest.json'), JSON.stringify(manifest));
  const assets = loadAssets(directory);
  const made = driverPageRoutes({ assets, sandbox: false, publicUrl: null, ...settings });
  return {
    page: () => replyOf(made, '/driver'),
    worker: () => replyOf(made, '/driver/worker.js'),
    manifest: () => replyOf(made, '/driver/manifest.webmanifest'),
  };
}
const header = (reply: Reply, name: string) => reply.headers?.[name] ?? '';

describe('the driver’s page', () => {
  it('lets nothing run or load but its own files and the preview of a photo', async () => {
    const policy = header(
      await routes('AAAA', { publicUrl: 'https://drive.example/x' }).page(),
      'Content-Security-Policy',
    );
    expect(policy.split('; ')).toEqual([
      "default-src 'none'",
      `script-src 'self' ${RELOAD_SOURCE}`,
      "style-src 'self'",
      "img-src 'self' blob:",
      "connect-src 'self' wss://drive.example",
      "manifest-src 'self'",
      "worker-src 'self'",
      "form-action 'none'",
      "frame-ancestors 'none'",
      "base-uri 'none'",
    ]);
    const body = String((await routes().page()).body).replace(`<script>${RELOAD_SCRIPT}</script>`, '');
    expect(body).not.toMatch(/ style=| on\w+=|<script(?![^>]* src=)|<style/);
    expect(body).not.toMatch(/https?:\/\//);
  });

  it('loads itself again where its files are of another build, by a script that stands before them', async () => {
    const body = String((await routes().page()).body);
    expect(body.indexOf(`<script>${RELOAD_SCRIPT}</script>`)).toBeGreaterThan(0);
    for (const file of ['driver-AAAA.js', 'driver-AAAA.css']) {
      expect(body.indexOf(RELOAD_SCRIPT)).toBeLessThan(body.indexOf(file));
    }
  });

  it('may use camera and position, and tells nobody where it was', async () => {
    const page = await routes().page();
    expect(header(page, 'Permissions-Policy')).toMatch(/camera=\(self\), geolocation=\(self\)/);
    expect(header(page, 'Referrer-Policy')).toBe('no-referrer');
    expect(header(page, 'Cache-Control')).toBe('no-cache');
  });

  it('offers every reason that the service takes', async () => {
    const body = String((await routes().page()).body);
    const offered = [...body.matchAll(/name="reason" value="([a-z_]+)"/g)].map(([, reason]) => reason);
    expect(offered).toEqual([...RELEASE_REASONS, ...UNDELIVERABLE_REASONS]);
  });

  it('says that it is a sandbox where it is one', async () => {
    expect((await routes('AAAA', { sandbox: true }).page()).body).toContain('Sandbox');
    expect((await routes().page()).body).not.toContain('Sandbox');
  });

  it('has a service worker for its own address, with another text as soon as a file is another', async () => {
    const worker = await routes().worker();
    expect(header(worker, 'Service-Worker-Allowed')).toBe('/driver');
    expect(header(worker, 'Content-Type')).toMatch(/^text\/javascript/);
    expect(header(worker, 'Cache-Control')).toBe('no-cache');
    expect(worker.body).toMatch(
      /^self\.SHELL=\{"version":"[0-9a-f]{16}","paths":\["\/driver",.*\]\};\nkeep\(self\.SHELL\);$/,
    );
    expect((await routes().worker()).body).toBe(worker.body);
    expect((await routes('BBBB').worker()).body).not.toBe(worker.body);
    expect((await routes('AAAA', { sandbox: true }).worker()).body).not.toBe(worker.body);
  });

  it('has a manifest by which a phone installs it', async () => {
    const manifest = await routes().manifest();
    expect(header(manifest, 'Content-Type')).toMatch(/^application\/manifest\+json/);
    expect(JSON.parse(String(manifest.body))).toMatchObject({
      start_url: '/driver',
      scope: '/driver',
      display: 'standalone',
      icons: expect.arrayContaining([
        { src: '/assets/driver-icon-AAAA.svg', sizes: 'any', type: 'image/svg+xml', purpose: 'any' },
      ]),
    });
  });
});
