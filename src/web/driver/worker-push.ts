import { sayOfPhone } from './phone-words.ts';

/** What the service worker does with a push: it shows a notice, which opens the page when it is pressed. */

type Client = { readonly url: string; focus(): Promise<unknown> };

/** The part of a worker's global scope that notices need, which the DOM's types lack. */
export type NoticeScope = {
  readonly registration: { showNotification(title: string, options: object): Promise<void> };
  readonly clients: {
    matchAll(options: object): Promise<readonly Client[]>;
    openWindow(url: string): Promise<unknown>;
  };
};

const WINDOWS = { type: 'window', includeUncontrolled: true };
export const PAGE = '/driver';

/**
 * Shows what a push says. It is shown and rings beside an open page, too. Browsers take a phone off that shows
 * nothing for a push. A page has no sound before it is touched, and misses an order where its process is cut off.
 *
 * @param data `{"kind":"given"}` or `{"kind":"taken"}`; anything else counts as given
 * @param icon the address of the notice's picture
 */
export async function showNotice(scope: NoticeScope, data: string, icon: string | undefined): Promise<void> {
  const isTaken = kindOf(data) === 'taken';
  await scope.registration.showNotification(sayOfPhone(isTaken ? 'takenTitle' : 'givenTitle'), {
    body: sayOfPhone(isTaken ? 'takenText' : 'givenText'),
    icon,
    // One notice at a time: the last one counts.
    tag: 'order',
    renotify: !isTaken,
    silent: isTaken,
  });
}

/** Brings the page to the front, or opens it. */
export async function openPage(scope: NoticeScope): Promise<void> {
  const windows = await scope.clients.matchAll(WINDOWS);
  const open = windows.find(({ url }) => new URL(url).pathname === PAGE);
  await (open ? open.focus() : scope.clients.openWindow(PAGE));
}

function kindOf(data: string): unknown {
  try {
    return (JSON.parse(data) as { readonly kind?: unknown }).kind;
  } catch {
    return null;
  }
}
