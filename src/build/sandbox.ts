import type { Config } from '../config.ts';
import { DEMO_STORE, ensureDemo } from '../sandbox/demo.ts';
import { startSimulatedDrivers } from '../sandbox/simulated-drivers.ts';
import type { Logger } from '../telemetry.ts';
import type { Closers } from './closers.ts';
import type { Database } from './database.ts';

export type Sandbox = { readonly retailerId: string; readonly apiKey: string; readonly drivers: number };

/** The demo store and the simulated drivers, who are clients of the service that runs already. */
export async function openSandbox(
  config: Config,
  database: Database,
  origin: string,
  url: string,
  logger: Logger,
  closers: Closers,
): Promise<Sandbox> {
  // Of no process: so that this one, too, heeds the notice of a new driver.
  const demo = await ensureDemo(database.sql, config.dataDir, config.simulatedDrivers, `${origin}-sandbox`);
  const drivers = await startSimulatedDrivers(url, demo.driverTokens, DEMO_STORE.point, logger);
  closers.add('simulated drivers', () => drivers.close());
  return { retailerId: demo.retailerId, apiKey: demo.apiKey, drivers: demo.driverTokens.length };
}
