import { afterAll, beforeAll, expect } from 'vitest';
import type { Point } from '../../src/geo/point.ts';
import { runCli } from '../harness/command-line.ts';
import { type FreshDatabase, freshDatabase } from '../harness/database.ts';
import { type Environment, newDataDir } from '../harness/service.ts';
import * as clients from './clients.ts';

type Running = { readonly url: string; output(): string; stop(): Promise<unknown> };
type StoreOptions = Parameters<typeof clients.addStore>[1];
type DriverOptions = Parameters<typeof clients.addDriver>[2];
type Changes = Record<string, unknown>;

/**
 * A service on a database and a folder of its own, from before the tests of a file or a group until after them, and
 * what stores and drivers do at it.
 *
 * @param settings beside those of the database and the folder; a function is called right before the start
 */
export function useService<Service extends Running>(
  start: (env: Environment) => Promise<Service>,
  settings: Environment | ((dataDir: string) => Environment | Promise<Environment>) = {},
) {
  const { dataDir, remove } = newDataDir();
  let database: FreshDatabase;
  let service: Service;
  let env: Environment;
  beforeAll(async () => {
    database = await freshDatabase();
    const more = typeof settings === 'function' ? await settings(dataDir) : settings;
    env = { SANDBOX: '1', DATABASE_URL: database.url, DATA_DIR: dataDir, ...more };
    service = await start(env);
  });
  afterAll(async () => {
    await service?.stop();
    await database?.drop();
    remove();
  });

  const ask = <Json = clients.Body>(path: string, sent?: clients.Sent) => clients.ask<Json>(service, path, sent);
  const addStore = (options?: StoreOptions) => clients.addStore(database.sql, options);
  const addDriver = (options?: DriverOptions) => clients.addDriver(service, database.sql, options);
  const addFreeDriver = (point: Point, options?: DriverOptions) =>
    clients.addFreeDriver(service, database.sql, point, options);
  const place = (store: clients.Store, changes?: Changes) => clients.place(service, store, changes);
  return {
    dataDir,
    /** The settings with which it was started. */
    get env(): Environment {
      return env;
    },
    get service() {
      return service;
    },
    get sql() {
      return database.sql;
    },
    get databaseUrl() {
      return database.url;
    },
    get url() {
      return service.url;
    },
    output: () => service.output(),
    /** Stops it as told, and starts it again on what it left. */
    async restart(stop: (running: Service) => Promise<unknown> = (running) => running.stop()): Promise<void> {
      await stop(service);
      service = await start(env);
    },
    ask,
    /** A request with a store's key. */
    send: <Json = clients.Body>(store: clients.Store, method: string, path: string, body?: unknown) =>
      ask<Json>(path, { method, key: store.apiKey, ...(body === undefined ? {} : { body }) }),
    /** A command beside the service, with `--json`. */
    cli: <Result = Record<string, string>>(...args: string[]) => runCli<Result>(env, ...args),
    addStore,
    addDriver,
    addFreeDriver,
    place,
    show: (store: clients.Store, orderId: string) => clients.show(service, store, orderId),
    untilOrder: (store: clients.Store, orderId: string, expected: Partial<clients.WireOrder>) =>
      clients.untilOrder(service, store, orderId, expected),
    openSocket: (path: string) => clients.openSocket(service, path),
    openPhone: (token: string) => clients.openPhone(service, token),
    chargesOf: (orderId: string) => clients.chargesOf(dataDir, orderId),
    storedPhotos: () => clients.storedPhotos(dataDir),
    cancel: (store: clients.Store, orderId: string, reason = 'out_of_stock') =>
      ask(`/orders/${orderId}/cancel`, { method: 'POST', key: store.apiKey, body: { reason } }),
    /** An order of a new store, with changes, and the driver near it who was given it. */
    async assigned(options?: StoreOptions, changes?: Changes) {
      const store = await addStore(options);
      const driver = await addFreeDriver(clients.northOf(store.point, 300));
      const { order } = (await place(store, changes)).body;
      expect(order.status).toBe('driver_assigned');
      return { store, driver, order, id: order.id, token: order.tracking_token };
    },
  };
}
