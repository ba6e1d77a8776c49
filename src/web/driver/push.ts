import { ask } from './request.ts';

/** Has the phone ring for a new order, also while the page is closed, by Web Push. No function throws. */

const REQUEST_MS = 10_000;

/**
 * Subscribes this phone for the driver, each time anew, as browsers change their subscriptions.
 *
 * @param mayAsk whether to ask the driver for the permission, which a browser allows while a button is pressed
 */
export async function ringWhenClosed(token: string, mayAsk: boolean): Promise<void> {
  if (!('serviceWorker' in navigator) || !('PushManager' in window) || !('Notification' in window)) return;
  try {
    const permission = mayAsk ? await Notification.requestPermission() : Notification.permission;
    if (permission !== 'granted') return;
    const registration = await navigator.serviceWorker.ready;
    const reply = await askOfPushes('GET', token, null);
    const { public_key: key } = (await reply.json()) as { readonly public_key?: string };
    if (!key) return;
    await askOfPushes('POST', token, JSON.stringify(await subscribed(registration.pushManager, bytesOf(key))));
  } catch {
    // The page rings by itself while it is open.
  }
}

/** Ends the subscription of this phone, as the driver signs out. */
export async function ringNoMore(token: string): Promise<void> {
  try {
    const registration = await navigator.serviceWorker?.getRegistration('/driver');
    const subscription = await registration?.pushManager?.getSubscription();
    if (!subscription) return;
    await subscription.unsubscribe();
    await askOfPushes('DELETE', token, JSON.stringify({ endpoint: subscription.endpoint }));
  } catch {
    // An address that is not there any more is forgotten with the next push to it.
  }
}

async function subscribed(manager: PushManager, key: Uint8Array<ArrayBuffer>): Promise<PushSubscription> {
  const before = await manager.getSubscription();
  const keyBefore = before?.options.applicationServerKey;
  if (before && keyBefore && String(new Uint8Array(keyBefore)) === String(key)) return before;
  await before?.unsubscribe();
  return manager.subscribe({ userVisibleOnly: true, applicationServerKey: key });
}

function bytesOf(base64url: string): Uint8Array<ArrayBuffer> {
  const binary = atob(base64url.replaceAll('-', '+').replaceAll('_', '/'));
  return Uint8Array.from(binary, (character) => character.charCodeAt(0));
}

function askOfPushes(method: string, token: string, body: string | null): Promise<Response> {
  return ask({ method, path: '/driver/push', token, body, timeoutMs: REQUEST_MS }, async (response) => response);
}
