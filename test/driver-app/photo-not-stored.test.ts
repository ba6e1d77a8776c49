import { expect, test } from 'vitest';
import type { DriverActions } from '../../src/dispatch/driver-actions.ts';
import { newId } from '../../src/domain/ids.ts';
import { PhotoStorageError, photoFailureCause } from '../../src/photos/photo-storage.ts';
import type { RequestHead } from '../../src/transport/route.ts';
import { letIn } from '../http/support.ts';
import { driverRoutes } from './driver-routes.ts';

/** Delivers on a storage that fails with an error; what is written would be a bug. */
function deliver(error: Error): Promise<unknown> {
  const routes = driverRoutes({
    drivers: letIn({ driverId: newId() }),
    actions: { foreseeDelivery: async () => null } as unknown as DriverActions,
    photos: {
      store: () => Promise.reject(error),
      discard: async () => undefined,
      failureCause: photoFailureCause,
    },
  });
  const route = routes.find(({ pattern }) => pattern.endsWith('/deliver'));
  const head = { params: [newId()], query: new URLSearchParams({ action_id: 'a' }) } as unknown as RequestHead;
  const request = { head, principal: { driverId: newId() }, body: Buffer.from('photo') };
  return Promise.resolve(route?.handle({ ...request, signal: new AbortController().signal } as never));
}

test.each([
  ['ENOSPC', 'The photo could not be stored: the disk is full. Nothing was changed; keep it and try again.'],
  [
    'NoSuchBucket',
    'The photo could not be stored: there is no such bucket. Nothing was changed; keep it and try again.',
  ],
  ['Unknown', 'The photo could not be stored. Nothing was changed; keep it and try again.'],
])('a photo that is not stored for %s is a 503 that says why, and changes nothing', async (code, message) => {
  await expect(deliver(new PhotoStorageError(code))).rejects.toMatchObject({ code: 'unavailable', message });
});
