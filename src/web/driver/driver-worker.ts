/**
 * The service worker of the driver's page. It caches the page's own files, so that the page opens without a
 * network, and nothing else: no data of an order passes through it. It shows what pushes say.
 */

import { type NoticeScope, openPage, PAGE, showNotice } from './worker-push.ts';

type Waiting = Event & { waitUntil(work: Promise<unknown>): void };
type Asked = Waiting & { readonly request: Request; respondWith(reply: Promise<Response>): void };
type Told = Event & { readonly data: unknown };
type Pushed = Waiting & { readonly data: { text(): string } | null };
type Pressed = Waiting & { readonly notification: { close(): void } };

/** The part of a worker's global scope that this file uses, which the DOM's types lack. */
declare const self: {
  /** The files of the page and a name that changes with them; the service writes it before this code. */
  readonly SHELL: { readonly version: string; readonly paths: readonly string[] };
  readonly location: Location;
  readonly registration: NoticeScope['registration'];
  readonly clients: NoticeScope['clients'] & { claim(): Promise<void> };
  skipWaiting(): Promise<void>;
  addEventListener(type: 'install' | 'activate', listener: (event: Waiting) => void): void;
  addEventListener(type: 'fetch', listener: (event: Asked) => void): void;
  addEventListener(type: 'message', listener: (event: Told) => void): void;
  addEventListener(type: 'push', listener: (event: Pushed) => void): void;
  addEventListener(type: 'notificationclick', listener: (event: Pressed) => void): void;
};

const PREFIX = 'sameday-driver-';
const CACHE = PREFIX + self.SHELL.version;

self.addEventListener('install', (event) => event.waitUntil(keepShell()));

self.addEventListener('activate', (event) => {
  event.waitUntil(forgetOlder().then(() => self.clients.claim()));
});

self.addEventListener('message', (event) => {
  if (event.data === 'take-over') void self.skipWaiting();
});

self.addEventListener('fetch', (event) => {
  const { method, url } = event.request;
  const { origin, pathname } = new URL(url);
  if (method !== 'GET' || origin !== self.location.origin || !self.SHELL.paths.includes(pathname)) return;
  event.respondWith(fromShell(pathname, event.request));
});

self.addEventListener('push', (event) => {
  const icon = self.SHELL.paths.find((path) => path.endsWith('.svg'));
  event.waitUntil(showNotice(self, event.data?.text() ?? '', icon));
});

self.addEventListener('notificationclick', (event) => {
  event.notification.close();
  event.waitUntil(openPage(self));
});

/**
 * Keeps the files of the page, or rejects, so that the browser tries again later. During a roll the page may come from
 * a process of another build than this code: that page would not find its files here without a network.
 */
async function keepShell(): Promise<void> {
  const page = await fetch(anew(PAGE));
  const text = await page.clone().text();
  const others = self.SHELL.paths.filter((path) => path !== PAGE);
  const named = others.filter((path) => path.startsWith('/assets/'));
  if (!page.ok || !named.every((path) => text.includes(path))) throw new Error('The page is of another build');
  const cache = await caches.open(CACHE);
  await cache.addAll(others.map(anew));
  await cache.put(PAGE, page);
}

/** Bypasses the browser's cache, or old files under a new name would stay for good. */
const anew = (path: string): Request => new Request(path, { cache: 'reload', credentials: 'omit' });

/** Answers from the cache first, as the network can be slow. */
async function fromShell(path: string, request: Request): Promise<Response> {
  const cache = await caches.open(CACHE);
  return (await cache.match(path)) ?? fetch(request);
}

async function forgetOlder(): Promise<void> {
  for (const name of await caches.keys()) {
    if (name.startsWith(PREFIX) && name !== CACHE) await caches.delete(name);
  }
}
