import { createServer } from 'node:http';
import { connect, createServer as createTcpServer, type Socket } from 'node:net';
import type { BrowserContext, Page } from 'playwright-core';
import sharp from 'sharp';
import { expect } from 'vitest';
import type { Point } from '../../src/geo/point.ts';
import { type Browser, findWholeChromium, launchBrowser } from '../harness/chromium.ts';
import { runCli } from '../harness/command-line.ts';
import { type FreshDatabase, freshDatabase } from '../harness/database.ts';
import { listen } from '../harness/listen.ts';
import { newDataDir } from '../harness/service.ts';
import { type ServiceHere, startServiceHere } from '../harness/service-here.ts';
import { type Answer, addStore, ask, place, type Store, show, type WireOrder } from '../service/clients.ts';

export const PHONE = { width: 360, height: 740 };
/**
 * A host name of the service other than this machine's own, so that browsers do not trust it without https.
 */
export const STRANGE_HOST = 'driver.test';

export type Phone = {
  readonly context: BrowserContext;
  readonly page: Page;
  /** The service's URL for this phone. */
  readonly url: string;
  goOffline(): Promise<void>;
  goOnline(): Promise<void>;
  /**
   * Errors in the browser: refusals by the policy and exceptions, without failed requests and the warning
   * about http.
   */
  readonly complaints: readonly string[];
};

/** The built service with its database, and a browser with a context for each phone. */
export async function openWorld() {
  const data = newDataDir();
  const database: FreshDatabase = await freshDatabase();
  const env = { DATABASE_URL: database.url, DATA_DIR: data.dataDir, SANDBOX: '1' };
  const service: ServiceHere = await startServiceHere(env);
  const browser = await launchBrowser(PHONE, [`--host-resolver-rules=MAP ${STRANGE_HOST} 127.0.0.1`]);

  const phones: { kind: string | null; context: BrowserContext; page: Page; line: Line }[] = [];
  let whole: Browser | undefined;
  /** Pages of phones that were closed, by kind: a browser opens a new one at the price of many loads. */
  const kept = new Map<string, Page[]>();

  /**
   * Opens a phone with its own page and an empty storage. `own`: one that no test after this takes over, as its clock,
   * its scripts or its sockets stay changed; `noticed`: one of its own that shows notifications.
   */
  async function newPhone(
    options: { at?: Point; locale?: string; own?: boolean; noticed?: boolean } = {},
  ): Promise<Phone> {
    const { at, noticed = false, own = noticed, ...rest } = options;
    if (noticed) whole ??= await launchBrowser(PHONE, [], findWholeChromium());
    const kind = own ? null : JSON.stringify(rest);
    const openPage = async () => {
      const context = { viewport: PHONE, hasTouch: true, ...rest };
      return (await ((noticed && whole) || browser).newContext(context)).newPage();
    };
    const page = kept.get(kind ?? '')?.pop() ?? (await openPage());
    const context = page.context();
    if (at) {
      await context.grantPermissions(['geolocation']);
      await context.setGeolocation({ latitude: at.lat, longitude: at.lng });
    }
    const line = await openLine(service.url);
    phones.push({ kind, context, page, line });
    const complaints: string[] = [];
    page.on('pageerror', (error) => complaints.push(String(error)));
    page.on('console', (message) => {
      const text = message.text();
      if (
        message.type() === 'error' &&
        !/Failed to load resource|WebSocket connection|ERR_|Opener-Policy header has been ignored/.test(text)
      ) {
        complaints.push(text);
      }
    });
    return {
      context,
      page,
      url: line.url,
      async goOffline() {
        line.cut();
        await context.setOffline(true);
      },
      async goOnline() {
        line.mend();
        await context.setOffline(false);
      },
      complaints,
    };
  }

  async function closePhones(): Promise<void> {
    for (const { kind, context, page, line } of phones.splice(0)) {
      if (kind === null || page.isClosed()) {
        await context.close();
      } else {
        await emptyPhone(page, [line.url, service.url]);
        kept.set(kind, [...(kept.get(kind) ?? []), page]);
      }
      await line.close();
    }
  }

  const newStore = (name: string): Promise<Store> => addStore(database.sql, { name });
  async function newDriver(): Promise<string> {
    const driver = ['--name', 'Ana Diaz', '--phone', '+14155550177', '--tiers', 'standard,priority', '--yes'];
    return (await runCli(env, 'driver', 'create', ...driver)).driver_token ?? '';
  }
  const newOrder = async (store: Store, changes: Record<string, unknown> = {}): Promise<WireOrder> =>
    (await place(service, store, changes)).body.order;
  /** A store, and a driver on duty at it with the page open. */
  async function driverAt(storeName: string) {
    const store = await newStore(storeName);
    const token = await newDriver();
    const phone = await newPhone({ at: store.point });
    await signIn(phone, token);
    await goOnDuty(phone);
    return { store, token, phone };
  }
  /** The same with an order that has reached the phone. */
  async function driverWithOrder(storeName: string, changes: Record<string, unknown> = {}) {
    const driver = await driverAt(storeName);
    const order = await newOrder(driver.store, changes);
    await eventually(() => headline(driver.phone)).toBe(storeName);
    return { ...driver, order };
  }

  return {
    service,
    sql: database.sql,
    newPhone,
    closePhones,
    newStore,
    newDriver,
    newOrder,
    driverAt,
    driverWithOrder,
    cancel: (store: Store, order: WireOrder, reason = 'out_of_stock'): Promise<Answer> =>
      ask(service, `/orders/${order.id}/cancel`, { method: 'POST', key: store.apiKey, body: { reason } }),
    /** The events of an order without its payment and its text, oldest first. */
    history: async (store: Store, orderId: string): Promise<string[]> => {
      const { events } = await show(service, store, orderId);
      return events.map(({ type }) => type).filter((type) => !/^(payment|sms)/.test(type));
    },
    async close() {
      await browser.close();
      await whole?.close();
      await service.stop();
      await database.drop();
      data.remove();
    },
  };
}

export type World = Awaited<ReturnType<typeof openWorld>>;

export const eventually = <Value>(question: () => Value | Promise<Value>) => expect.poll(question);
export const button = ({ page }: Phone, name: string) => page.getByRole('button', { name, exact: true });
/** What the page says of its network, and of what it has not sent. */
export const link = ({ page }: Phone) => page.locator('#link').textContent();
export const waiting = ({ page }: Phone) => page.locator('#waiting').textContent();

/** A photo as a camera hands it to the page. */
export const photoOf = (buffer: Buffer) => ({ name: 'IMG_0001.jpg', mimeType: 'image/jpeg', buffer });

/** Arrives at the door and takes the photo. */
export async function takePhoto(phone: Phone, photo: ReturnType<typeof photoOf>): Promise<void> {
  await arrive(phone);
  await phone.page.locator('#camera').setInputFiles(photo);
  await phone.page.locator('#preview-image').waitFor();
}

/** Records the actions that the service answers, with their status. */
export function answersOf({ page }: Phone): string[] {
  const answers: string[] = [];
  page.on('response', (response) => {
    const kind = /\/driver\/orders\/[^/]+\/([a-z-]+)/.exec(response.url())?.[1];
    if (kind) answers.push(`${kind} ${response.status()}`);
  });
  return answers;
}

/** Opens the page and signs in with the token. */
export async function signIn({ page, url }: Phone, token: string): Promise<void> {
  await page.goto(`${url}/driver`);
  await page.getByLabel('Driver token').fill(token);
  await page.getByRole('button', { name: 'Sign in' }).click();
  await page.locator('#link[data-state=live]').waitFor();
}

export async function goOnDuty({ page }: Phone): Promise<void> {
  await page.getByRole('button', { name: 'Go on duty' }).click();
  await page.getByRole('heading', { name: 'Waiting for an order' }).waitFor();
  // A browser's made-up position is as old as the page.
  await page.getByText(/^(Position sent just now|Your position is)/).waitFor();
}

/** Presses "I have arrived", by which the page asks for the photo. */
async function arrive(phone: Phone): Promise<void> {
  await button(phone, 'I have arrived').click();
  await phone.page.locator('#proof').waitFor();
}

/** Waits until the service worker has cached the page. */
export async function untilInstalled({ page }: Phone): Promise<void> {
  await expect.poll(() => page.evaluate('navigator.serviceWorker.controller !== null')).toBe(true);
}

/** What tests hear of a page. Playwright itself listens to others. */
const HEARD = ['console', 'filechooser', 'pageerror', 'request', 'response', 'websocket'];

/** Leaves a phone as a new one: one empty page, nothing stored of these origins, nowhere, with a network. */
async function emptyPhone(page: Page, origins: readonly string[]): Promise<void> {
  const context = page.context();
  for (const other of context.pages()) if (other !== page) await other.close();
  for (const event of HEARD) page.removeAllListeners(event);
  await page.unrouteAll();
  await page.goto('about:blank');
  const session = await context.newCDPSession(page);
  for (const origin of origins) await session.send('Storage.clearDataForOrigin', { origin, storageTypes: 'all' });
  await session.detach();
  await context.clearCookies();
  await context.clearPermissions();
  await context.setGeolocation(null);
  await context.setOffline(false);
}

type Line = Awaited<ReturnType<typeof openLine>>;

/**
 * A phone's network, which can be cut. The browser's own emulation is not enough: a page that is loaded again
 * while it is off can send for a moment.
 */
async function openLine(service: string) {
  const { hostname, port } = new URL(service);
  const sockets = new Set<Socket>();
  let isCut = false;
  const keep = (socket: Socket, other: Socket) => {
    sockets.add(socket);
    socket.on('error', () => other.destroy()).on('close', () => sockets.delete(socket));
    socket.pipe(other);
  };
  const server = createTcpServer((phone) => {
    if (isCut) return void phone.destroy();
    const upstream = connect(Number(port), hostname);
    keep(phone, upstream);
    keep(upstream, phone);
  });
  const { url, close } = await listen(server);
  const cut = () => {
    isCut = true;
    for (const socket of sockets) socket.destroy();
  };
  return {
    url,
    cut,
    mend() {
      isCut = false;
    },
    close() {
      cut();
      return close();
    },
  };
}

/** A proxy in front of the service that can serve another version of the page, as after an update. */
export async function openFront(service: string) {
  let title: string | null = null;
  let isMixed = false;
  const changed = (text: string) => {
    if (title === null) return text;
    const page = isMixed ? text.replace(/src="\/assets\/driver-/, '$&OTHER') : text;
    return page.replace(/<title>[^<]*/, `<title>${title}`).replace(/"version":"\w+"/, `"version":"${title}"`);
  };
  const server = createServer((request, response) => {
    void fetch(`${service}${request.url}`).then(async (reply) => {
      for (const name of ['content-type', 'service-worker-allowed', 'cache-control']) {
        const value = reply.headers.get(name);
        if (value !== null) response.setHeader(name, value);
      }
      response.writeHead(reply.status).end(changed(await reply.text()));
    });
  });
  const { url, close } = await listen(server);
  return {
    url,
    close,
    /** @param mixed whether the page is of another build than the worker */
    release(name: string, mixed = false) {
      title = name;
      isMixed = mixed;
    },
  };
}

export const headline = ({ page }: Phone) => page.locator('main h1:visible').textContent();

/** A JPEG as a phone's camera makes it, with noise that does not compress. One of 12 megapixels has megabytes. */
export async function cameraPhoto(width = 4_000, height = 3_000): Promise<Buffer> {
  const noise = { type: 'gaussian', mean: 128, sigma: 40 } as const;
  return sharp({ create: { width, height, channels: 3, background: '#888', noise } })
    .withExif({ IFD3: { GPSLatitudeRef: 'N', GPSLatitude: '37/1 45/1 0/1' } })
    .jpeg({ quality: 90 })
    .toBuffer();
}
