import { expect, test } from 'vitest';
import { createDriverAllowances } from '../../src/driver-app/allowance.ts';
import { driverDayRoute } from '../../src/driver-app/duty-routes.ts';
import { letIn, startServer } from '../http/support.ts';

/** Asks with a query; the reply, and by how many minutes the day was shifted. */
async function ask(query: string) {
  const asked: number[] = [];
  const { url } = await startServer({
    routes: [
      driverDayRoute({
        drivers: letIn({ driverId: 'driver' }),
        store: {
          async findDriverDay(_driverId, minutes) {
            asked.push(minutes);
            return { deliveries: 7, returns: 1, earningsCents: 4_120, heldCents: 600 };
          },
        },
        allowances: createDriverAllowances(Date.now),
      }),
    ],
  });
  const response = await fetch(`${url}/driver/day${query}`, { headers: { authorization: 'Bearer x' } });
  return { status: response.status, body: await response.json(), asked };
}

test('a driver is told what they did since their own midnight', async () => {
  const { status, body, asked } = await ask('?utc_offset_minutes=-300');
  expect([status, asked]).toEqual([200, [-300]]);
  expect(body).toEqual({
    success: true,
    day: { deliveries: 7, returns: 1, earnings_cents: 4_120, held_cents: 600 },
  });
  expect((await ask('')).asked).toEqual([0]);
  expect((await ask('?utc_offset_minutes=840')).asked).toEqual([840]);
});

test('a shift that no clock has, or anything else, is refused by its name', async () => {
  for (const wrong of ['841', '-841', '1.5', '9999', 'x', '']) {
    const { status, body, asked } = await ask(`?utc_offset_minutes=${wrong}`);
    expect([status, asked]).toEqual([400, []]);
    expect(body).toMatchObject({ error: { fields: [{ field: 'utc_offset_minutes' }] } });
  }
  expect(await ask('?offset=1')).toMatchObject({ status: 400, body: { error: { fields: [{ field: 'offset' }] } } });
});
