import { expect, test } from 'vitest';
import { newId } from '../../src/domain/ids.ts';
import { storeOf } from '../harness/store.ts';
import { useTablesBefore } from './tables-before.ts';

// One connection, which keeps the statements that it has prepared.
const { sql, migrate } = await useTablesBefore('0021', 1);

test('a webhook of before is kept, and a process of before goes on with the statements it has prepared', async () => {
  const id = newId();
  await sql`insert into retailers (id, name, address, lat, lng) values (${id}, 'Corner Market', 'x', 1, 2)`;
  const set = (address: string) => sql`
    insert into webhook_endpoints (retailer_id, url, secret)
    select id, ${address}, 'whsec_c2VjcmV0' from retailers where id = ${id}
    on conflict (retailer_id) do update set url = excluded.url, secret = excluded.secret, set_at = now(),
      failing_since = null, retry_at = null, disabled_at = null, disabled_because = null
    returning retailer_id`;
  const fail = () => sql`
    update webhook_endpoints set failing_since = coalesce(failing_since, now())
    where retailer_id = ${id} and disabled_at is null returning disabled_at`;
  const show = () => sql`select w.* from webhook_endpoints w where w.retailer_id = ${id}`;
  const columns = async () => Object.keys((await show())[0] ?? {}).sort();
  await set('https://before.test/');
  await fail();
  const known = await columns();

  await migrate();
  const owner = { kind: 'store', id } as const;
  const [kept] = await storeOf(sql).listWebhooks(owner);
  expect(kept).toMatchObject({ id, url: 'https://before.test/', setBy: 'operator', failingSince: expect.any(Date) });
  expect(kept?.eventTypes).toContain('order.assigned');
  expect(kept?.eventTypes).not.toContain('order.created');
  expect(await columns()).toEqual(known);
  expect(await fail()).toHaveLength(1);
  expect(await set('https://after.test/')).toEqual([{ retailer_id: id }]);
  expect(await storeOf(sql).listWebhooks(owner)).toMatchObject([{ url: 'https://after.test/', failingSince: null }]);
});
