import { expect, onTestFinished, test } from 'vitest';
import { freshDatabase } from '../harness/database.ts';
import { hasPgbouncer, startPgbouncer } from '../harness/pgbouncer.ts';
import { newDataDir, runBuiltCli, startBuiltService } from '../harness/service.ts';
import { addFreeDriver, addStore, chargesOf, openSocket, place, untilOrder } from './clients.ts';

// It is skipped where there is no PgBouncer on the PATH.
test.skipIf(!hasPgbouncer())('a service and a command behind PgBouncer in session mode', async () => {
  const database = await freshDatabase();
  onTestFinished(() => database.drop());
  // What the pooler drops: of this database alone, as others use the role meanwhile.
  const { username, pathname } = new URL(database.url);
  await database.sql`
    alter role ${database.sql(username)} in database ${database.sql(pathname.slice(1))} set statement_timeout = '4500ms'`;
  const pooler = await startPgbouncer(database.url);
  onTestFinished(() => pooler.stop());
  const { dataDir, remove } = newDataDir();
  onTestFinished(remove);
  const env = { DATABASE_URL: pooler.url, DATA_DIR: dataDir };
  const service = await startBuiltService(env);
  onTestFinished(async () => void (await service.stop('SIGKILL')));
  const store = await addStore(database.sql);

  const waiting = (await place(service, store)).body.order;
  const page = await openSocket(service, `/track/${waiting.tracking_token}/live`);
  await expect.poll(() => JSON.stringify(page.messages)).toContain('"status":"pending_dispatch"');
  // Another process writes it, of which this one hears by a notice of Postgres.
  await runBuiltCli(env, 'order', 'cancel', waiting.id, '--yes');
  await expect.poll(() => JSON.stringify(page.messages.at(-1))).toContain('"status":"cancelled"');
  page.close();

  await addFreeDriver(service, database.sql, store.point);
  const { order } = (await place(service, store)).body;
  await untilOrder(service, store, order.id, { status: 'driver_assigned', payment_status: 'paid' });
  expect(chargesOf(dataDir, order.id)).toHaveLength(1);
  expect(await service.stop()).toBe(0);
});
