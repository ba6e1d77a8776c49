import { expect, onTestFinished, test, vi } from 'vitest';
import { findStore } from '../../src/commands/new-store.ts';
import { PUBLIC_GEOCODER_PACE_MS } from '../../src/vendors/geocoder.ts';

const contextOf = (geocoderUrl: string) => ({
  config: { geocoderUrl, geocoderInvents: false, supportEmail: 'help@example.com' },
});

test('addresses in a row are each asked for, at the pace of the public geocoder', async () => {
  vi.useFakeTimers();
  vi.stubGlobal('fetch', async () => new Response('[{"lat": "39.7", "lon": "-105", "place_rank": 30}]'));
  onTestFinished(async () => {
    // The process has one turn at the public geocoder, which the next test needs back.
    await vi.advanceTimersByTimeAsync(PUBLIC_GEOCODER_PACE_MS);
    vi.useRealTimers();
    vi.unstubAllGlobals();
  });
  const context = contextOf('https://nominatim.openstreetmap.org');
  for (const address of ['1 Main St', '2 Main St', '3 Main St']) {
    const found = findStore(context, address);
    await vi.advanceTimersByTimeAsync(PUBLIC_GEOCODER_PACE_MS);
    expect(await found).toMatchObject({ source: 'geocoder' });
  }
});

test('an address has no point while the geocoder does not answer', async () => {
  expect(await findStore(contextOf('http://127.0.0.1:1'), '1 Main St, Denver, CO 80202')).toBe('unavailable');
});
