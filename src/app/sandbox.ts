import type { Config } from '../config.ts';
import { findAddress } from '../dispatch/places.ts';
import { newWebhookSecret } from '../events/webhook-signature.ts';
import { connect } from '../postgres/connect.ts';
import type { Closers } from '../runtime/closers.ts';
import type { Database } from '../runtime/database.ts';
import { StartError } from '../runtime/start-error.ts';
import { DEMO_STORE, ensureDemo, tellDemoStore } from '../sandbox/demo.ts';
import { startGeocoderStandIn } from '../sandbox/geocoder-stand-in.ts';
import { startRouterStandIn } from '../sandbox/router-stand-in.ts';
import { startSimulatedDrivers } from '../sandbox/simulated-drivers.ts';
import { startWebhookReceiver } from '../sandbox/webhook-receiver.ts';
import { openStore } from '../store/store.ts';
import type { Logger } from '../telemetry.ts';
import { loadZips, ZIPS_FILE } from '../vendors/zips.ts';
import { openPlaces } from './places.ts';

export type Sandbox = {
  readonly retailerId: string;
  readonly apiKey: string;
  readonly drivers: number;
  readonly yourDriverToken: string;
};

/** Adds the geocoder's stand-in to a sandbox with simulated drivers and no geocoder. */
export async function withGeocoder(config: Config, closers: Closers): Promise<Config> {
  if (!config.sandbox || config.simulatedDrivers === 0 || config.geocoderUrl) return config;
  const zips = loadZips(ZIPS_FILE);
  const standIn = await startGeocoderStandIn({ zipCentroid: (zip5) => zips.area(zip5)?.point });
  closers.add('geocoder stand-in', () => standIn.close());
  return { ...config, geocoderUrl: standIn.url, geocoderInvents: true };
}

/** Adds the router's stand-in to a sandbox with simulated drivers and no router. */
export async function withRouter(config: Config, closers: Closers): Promise<Config> {
  if (!config.sandbox || config.simulatedDrivers === 0 || config.routerUrl) return config;
  const standIn = await startRouterStandIn();
  closers.add('router stand-in', () => standIn.close());
  return { ...config, routerUrl: standIn.url };
}

/**
 * Opens the demo store, its webhook receiver and the simulated drivers. All are clients of the running
 * service.
 */
export async function openSandbox(
  config: Config,
  database: Database,
  url: string,
  logger: Logger,
  closers: Closers,
): Promise<Sandbox> {
  // With another process id, so that this process heeds the notice of a new driver too.
  const store = openStore({ ...database, processId: `${database.processId}-sandbox` });
  const demo = await ensureDemo(store, config.dataDir, config.simulatedDrivers);
  const { retailerId, apiKey, driverTokens, yourDriverToken } = demo;
  if (driverTokens.length > 0) {
    const secret = newWebhookSecret();
    const receiver = await startWebhookReceiver(secret);
    closers.add("demo store's receiver", () => receiver.close());
    await tellDemoStore(store, retailerId, receiver.url, secret);
    const scenarioOf = store.findDriverScenario;
    const world = { baseUrl: url, home: DEMO_STORE.point, locate: mapOf(config), scenarioOf, logger };
    const drivers = await startSimulatedDrivers(world, driverTokens);
    closers.add('simulated drivers', () => drivers.close());
  }
  return { retailerId, apiKey, drivers: driverTokens.length, yourDriverToken };
}

/** A simulated driver's map, which looks an address up as the service does. */
function mapOf(config: Config) {
  const places = openPlaces(config);
  return async (address: string) => {
    const answer = await findAddress(places, address, 'simulated drivers');
    return answer.kind === 'found' ? answer.point : null;
  };
}

/**
 * Keeps simulated drivers off a database that no sandbox made: they would take its customers' orders. It comes before
 * the migrations, which would leave another build's database changed.
 *
 * @throws {StartError} if there are stores, and the demo's is not among them
 */
export async function keepOffRealStores({ sandbox, simulatedDrivers }: Config, url: string): Promise<void> {
  if (!sandbox || simulatedDrivers === 0) return;
  const sql = connect({ url, max: 1, applicationName: 'sameday stores' });
  try {
    const store = openStore({ sql, commits: sql, lists: sql, processId: 'sameday stores' });
    if (!(await store.hasOnlyOtherStores(DEMO_STORE.name, DEMO_STORE.address))) return;
  } finally {
    await sql.end({ timeout: 1 });
  }
  throw new StartError(
    'The database has stores that no sandbox made, and simulated drivers would take their orders. Remove SANDBOX=1, ' +
      'or set another DATABASE_URL.',
  );
}
