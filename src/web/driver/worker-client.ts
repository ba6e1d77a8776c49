const WORKER = '/driver/worker.js';
const SCOPE = '/driver';

/**
 * Registers the service worker. A newer one that has waited since the last visit takes over now, before the
 * driver has begun anything, and reloads the page. One that arrives while the page is open waits for the next
 * visit.
 */
export function useWorker(): void {
  if (!('serviceWorker' in navigator)) return;
  navigator.serviceWorker.register(WORKER, { scope: SCOPE, updateViaCache: 'none' }).then(
    ({ waiting }) => {
      if (!waiting || !navigator.serviceWorker.controller) return;
      navigator.serviceWorker.addEventListener('controllerchange', () => location.reload(), { once: true });
      waiting.postMessage('take-over');
    },
    () => {
      // The page works without it, where there is a network when it is opened.
    },
  );
}
