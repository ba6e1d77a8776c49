/**
 * The service worker of the driver's page. It keeps the page's own files, so that the page opens without network, and
 * nothing else: what the service says of orders never passes through here.
 */

type Waiting = Event & { waitUntil(work: Promise<unknown>): void };
type Asked = Waiting & { readonly request: Request; respondWith(reply: Promise<Response>): void };
type Told = Event & { readonly data: unknown };

/** What this file needs of a worker's global scope; the types of the DOM do not describe it. */
declare const self: {
  /** Written before this code by the service: the files of the page, and a name that changes with them. */
  readonly SHELL: { readonly version: string; readonly paths: readonly string[] };
  readonly location: Location;
  readonly clients: { claim(): Promise<void> };
  skipWaiting(): Promise<void>;
  addEventListener(type: 'install' | 'activate', listener: (event: Waiting) => void): void;
  addEventListener(type: 'fetch', listener: (event: Asked) => void): void;
  addEventListener(type: 'message', listener: (event: Told) => void): void;
};

const PREFIX = 'sameday-driver-';
const CACHE = PREFIX + self.SHELL.version;

self.addEventListener('install', (event) => {
  // Past the browser's own cache: old files under a new name would stay for good.
  const requests = self.SHELL.paths.map((path) => new Request(path, { cache: 'reload', credentials: 'omit' }));
  event.waitUntil(caches.open(CACHE).then((cache) => cache.addAll(requests)));
});

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

/** From what is kept, at once: on a bad line a file from the network would keep the driver waiting. */
async function fromShell(path: string, request: Request): Promise<Response> {
  const cache = await caches.open(CACHE);
  return (await cache.match(path)) ?? fetch(request);
}

async function forgetOlder(): Promise<void> {
  for (const name of await caches.keys()) {
    if (name.startsWith(PREFIX) && name !== CACHE) await caches.delete(name);
  }
}

// A module of its own: `self` above is this file's alone.
export {};
