import { expect, it } from 'vitest';
import { newTrackingToken } from '../../src/domain/ids.ts';
import { RELOAD_SCRIPT, RELOAD_SOURCE } from '../../src/pages/reload.ts';
import { jpeg } from '../harness/photo.ts';
import { startServiceHere } from '../harness/service-here.ts';
import { useService } from './world.ts';

const world = useService(startServiceHere);

/** The link of an order that was handed over with a photo. */
async function delivered(): Promise<string> {
  const { driver, id, token } = await world.assigned();
  await driver.pickUp(id);
  expect((await driver.deliver(id, await jpeg())).status).toBe(200);
  return `/track/${token}`;
}

type Got = { readonly path: string; readonly status: number; readonly headers: Headers; readonly text: string };

async function get(path: string): Promise<Got> {
  const response = await fetch(world.url + path);
  return { path, status: response.status, headers: response.headers, text: await response.text() };
}

it('lets no page run, load or be framed by anything but itself, nor tell where its visitor comes from', async () => {
  const [shown, expired] = [await delivered(), await delivered()];
  await world.sql`
    update orders set delivered_at = now() - interval '1 year' where tracking_token = ${expired.slice('/track/'.length)}`;
  const pages = await Promise.all(
    [shown, expired, `/track/${newTrackingToken()}`, '/track/%3Cscript%3E', '/track/%C3%A9', '/driver'].map(get),
  );
  expect(pages.map(({ status }) => status)).toEqual([200, 410, 404, 404, 404, 200]);
  for (const { path, headers, text } of pages) {
    const told = Object.fromEntries(headers);
    expect(told, path).toMatchObject({
      'content-type': 'text/html; charset=utf-8',
      'referrer-policy': 'no-referrer',
      'x-content-type-options': 'nosniff',
      'x-frame-options': 'DENY',
      // The driver's page is the same for everybody and is kept for when there is no network.
      'cache-control': path === '/driver' ? 'no-cache' : 'no-store',
    });
    const policy = (told['content-security-policy'] ?? '').split('; ');
    const wanted = ["default-src 'none'", `script-src 'self' ${RELOAD_SOURCE}`, "style-src 'self'", "base-uri 'none'"];
    expect(policy, path).toEqual(expect.arrayContaining([...wanted, "form-action 'none'", "frame-ancestors 'none'"]));
    expect(policy.join(), path).not.toMatch(/unsafe|\*|https?:/);
    const others = text.replace(`<script>${RELOAD_SCRIPT}</script>`, '');
    expect(others, path).not.toMatch(/<script(?![^>]* src="\/assets\/)|<style|\sstyle=|\son\w+=|javascript:/i);
  }
});

it('gives everything else that a browser can open a type that it does not look behind, and keeps what is personal', async () => {
  const link = await delivered();
  const html = [await get(link), await get('/driver')].map(({ text }) => text).join();
  const files = [...html.matchAll(/(?:src|href)="(\/assets\/[^"]+)"/g)].map(([, path]) => path as string);
  expect(files.length).toBeGreaterThan(4);
  const kept = await Promise.all([...files, '/driver/manifest.webmanifest', '/driver/worker.js'].map(get));
  const personal = await Promise.all([`${link}/status`, `${link}/photo`, '/driver/orders', '/orders'].map(get));
  const nothing = await Promise.all(
    ['/', '/driver/', '/assets/%3Csvg%3E', '/%2e%2e/package.json', `${link}/`].map(get),
  );
  expect(kept.map(({ status }) => status)).toEqual(kept.map(() => 200));
  expect(personal.map(({ status }) => status)).toEqual([200, 200, 401, 401]);
  for (const { path, headers } of [...kept, ...personal, ...nothing]) {
    expect(headers.get('x-content-type-options'), path).toBe('nosniff');
    expect(headers.get('content-type'), path).not.toMatch(/html/);
  }
  for (const { path, headers } of [...personal, ...nothing])
    expect(headers.get('cache-control'), path).toBe('no-store');
  // A person who types the host alone, or a slash too many, is led to the page; a program gets 404.
  const person = { redirect: 'manual', headers: { Accept: 'text/html,*/*' } } as const;
  const ledTo = async (path: string) => (await fetch(`${world.url}${path}`, person)).headers.get('location');
  expect(await Promise.all(['/', '/driver/', `${link}/`].map(ledTo))).toEqual(['/docs', '/driver', link]);
  expect(await Promise.all(['//evil.example/', '/nothing'].map(ledTo))).toEqual([null, null]);
});
