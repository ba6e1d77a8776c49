import { expect, test, vi } from 'vitest';
import { trackingRoutes } from '../../src/tracking/routes.ts';
import { startServer } from '../http/support.ts';
import { delivered, NOW_MS } from './orders.ts';

const askFor = async (photo: () => Promise<Buffer | null>, order = delivered()) => {
  const routes = trackingRoutes({
    store: { findTrackedByToken: async () => order },
    matcher: { driver: () => undefined },
    photos: { find: photo },
    changeDropoff: async () => false,
    assets: { path: (source) => source, serve: () => null },
    settings: { tileUrl: null, tileAttribution: '', sandbox: false },
    publicUrl: null,
    now: () => NOW_MS,
    failed: () => undefined,
  });
  const { url, log } = await startServer({ routes });
  const response = await fetch(`${url}/track/${order.trackingToken}/photo`);
  return { status: response.status, ...((await response.json()) as { message: string }), log };
};

test.each([
  ['a bucket that is away', Object.assign(new Error('no'), { code: 'ECONNREFUSED' })],
  ['a bucket that refuses us', Object.assign(new Error('no'), { code: 'SignatureDoesNotMatch' })],
  ['a folder that cannot be read', Object.assign(new Error('no'), { code: 'EACCES', syscall: 'open' })],
])('a photo that lies in %s is unavailable in a sentence of its own', async (_what, error) => {
  const { status, message } = await askFor(() => Promise.reject(error));
  expect([status, message]).toEqual([503, 'The photo cannot be fetched right now; please try again.']);
});

test('the photo of a handover is 500 for a mistake in a statement', async () => {
  const { status, log } = await askFor(() =>
    Promise.reject(Object.assign(new Error('no'), { code: '42703', severity: 'ERROR', name: 'PostgresError' })),
  );
  expect([status, log.map(({ level }) => level)]).toEqual([500, ['error']]);
});

test('the photo of a link that has expired is 410, and is not looked for', async () => {
  const photo = vi.fn(async () => null);
  const order = delivered({ deliveredAt: '2025-01-01T00:00:00.000Z' });
  expect([(await askFor(photo, order)).status, photo.mock.calls]).toEqual([410, []]);
});

test('a photo is fetched for the network that asks for it', async () => {
  const photo = vi.fn(async () => null);
  const order = delivered();
  expect((await askFor(photo, order)).status).toBe(404);
  expect(photo.mock.calls).toEqual([[order.trackingToken, '127.0.0.1']]);
});
