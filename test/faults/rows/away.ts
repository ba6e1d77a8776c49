import { startGeocoderStandIn } from '../../../src/sandbox/geocoder-stand-in.ts';
import { startLoad } from '../clients.ts';
import { startDeliveries } from '../deliveries.ts';
import { inWorld, type Row } from '../row.ts';
import { later } from '../world.ts';
import { startProbe } from './probe.ts';

const AWAY_MS = 6_000;
const ORDERS_PER_SECOND = 60;
/** A bucket that is always away, as orders need none. */
const NO_BUCKET = {
  S3_BUCKET: 'away',
  S3_ENDPOINT: 'http://127.0.0.1:9',
  S3_ACCESS_KEY_ID: 'away',
  S3_SECRET_ACCESS_KEY: 'away',
};

/**
 * Everything but Postgres is away at once: orders are accepted and the service counts as ready; jobs are done
 * later.
 */
export const allAway: Row = {
  name: 'all-away',
  what: 'Redis, Stripe, Twilio, the geocoder and the photo bucket are away at once',
  count: 10,
  needs: ['redis'],
  async run(count, random) {
    const geocoder = await startGeocoderStandIn({ zipCentroid: () => ({ lat: 37.76, lng: -122.42 }) });
    try {
      return await inWorld({ env: { GEOCODER_URL: geocoder.url, ...NO_BUCKET } }, async (world) => {
        const vendors = [world.stripe, world.twilio, geocoder];
        const load = startLoad(world, ORDERS_PER_SECOND, random);
        const deliveries = startDeliveries(world, random);
        const problems: string[] = [];
        for (let i = 0; i < count; i++) {
          await later(1_000 + random() * 1_000);
          const redis = world.redis?.server?.pid() ?? 0;
          for (const vendor of vendors) vendor.orderFaults({ each: () => ({ kind: 'reset', effect: 'before' }) });
          process.kill(redis, 'SIGSTOP');
          const probe = startProbe(world, random, 'all');
          await later(AWAY_MS);
          problems.push(...(await probe.stop()));
          process.kill(redis, 'SIGCONT');
          // The vendors stay away a little longer, so that jobs find them away.
          await later(1_000);
          for (const vendor of vendors) vendor.orderFaults({ each: null });
        }
        problems.push(...(await load.stop()));
        await deliveries.stop();
        return { count, orders: load.sent(), findings: problems };
      });
    } finally {
      await geocoder.close();
    }
  },
};
