const WORKER = '/driver/worker.js';
const SCOPE = '/driver';

/**
 * Registers the service worker. A newer one that waits since the last visit takes over now, before the driver has begun
 * anything, and the page loads once more with it; one that comes while the page is open waits for the next visit.
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
      // The page works without, as long as there is network when it is opened.
    },
  );
}
