import { describe, expect, test } from 'vitest';
import { newId } from '../../src/domain/ids.ts';
import type { ProofPhotos } from '../../src/driver-app/action-routes.ts';
import { ordersCancel } from '../../src/http/routes/orders-cancel.ts';
import { createStoreRates } from '../../src/http/store-rate.ts';
import { PhotoStorageError, photoFailureCause } from '../../src/photos/photo-storage.ts';
import { StatementGivenUp } from '../../src/postgres/deadline.ts';
import type { RetailerKey } from '../../src/store/accounts/retailers.ts';
import type { Route } from '../../src/transport/route.ts';
import { letIn, startServer } from '../http/support.ts';
import { actionsBy, driverRoutes } from './driver-routes.ts';

const ORDER = newId();
const DRIVER = newId();
const SECRET_VALUE = 'Ada Lovelace';

/** Every route that writes, over tables that do `write` whatever they are asked. */
function writingRoutes(write: () => Promise<never>, photos: Partial<ProofPhotos> = {}): Route[] {
  return [
    ordersCancel({
      stores: letIn({ retailerId: newId() } as RetailerKey),
      rates: createStoreRates(0),
      dispatch: { cancelOrder: write },
    }),
    ...driverRoutes({
      drivers: letIn({ driverId: DRIVER }),
      actions: { ...actionsBy(write), setDuty: write },
      photos: {
        store: async () => ({ kind: 'stored', name: 'photo', isBlank: false }),
        discard: async () => undefined,
        failureCause: () => null,
        ...photos,
      },
    }),
  ];
}

type Write = { readonly method: string; readonly path: string; readonly type?: string; readonly body?: string };
const JSON_TYPE = 'application/json';
const WRITES: readonly Write[] = [
  { method: 'POST', path: `/orders/${ORDER}/cancel`, body: '{"reason":"duplicate"}' },
  { method: 'PUT', path: '/driver/duty', body: '{"on_duty":true}' },
  { method: 'POST', path: `/driver/orders/${ORDER}/pick-up`, body: '{"action_id":"a"}' },
  { method: 'POST', path: `/driver/orders/${ORDER}/release`, body: '{"action_id":"a","reason":"vehicle"}' },
  { method: 'POST', path: `/driver/orders/${ORDER}/undeliverable`, body: '{"action_id":"a","reason":"nobody_home"}' },
  { method: 'POST', path: `/driver/orders/${ORDER}/return`, body: '{"action_id":"a"}' },
  { method: 'POST', path: `/driver/orders/${ORDER}/deliver?action_id=a`, type: 'image/jpeg', body: 'photo' },
];

async function send(url: string, { method, path, type = JSON_TYPE, body = '' }: Write) {
  const response = await fetch(url + path, { method, headers: { 'Content-Type': type }, body });
  const reply = (await response.json()) as {
    message: string;
    error: { code: string; fields: { field: string; message: string }[] };
  };
  return { status: response.status, ...reply };
}

const sqlError = (code: string) =>
  Object.assign(new Error(`bad value "${SECRET_VALUE}"`), { code, severity: 'ERROR', name: 'PostgresError' });

describe.each(WRITES)('$method $path', (write) => {
  const failing = async (error: Error) => {
    const { url, log } = await startServer({ routes: writingRoutes(() => Promise.reject(error)) });
    return { reply: await send(url, write), log };
  };

  test('whose answer was lost promises nothing, and says what to do', async () => {
    const { reply, log } = await failing(new StatementGivenUp('DEADLINE_SENT'));
    expect([reply.status, reply.error.code]).toEqual([504, 'outcome_unknown']);
    expect(reply.message).toMatch(/not known\. (Send|Ask)/);
    expect(log.map(({ level }) => level)).toEqual(['warn']);
  });

  test.each([
    ['was never sent', new StatementGivenUp('DEADLINE_UNSENT')],
    ['lost to another one', sqlError('40P01')],
  ])('whose statement %s is unavailable: nothing was written', async (_what, error) => {
    const { reply } = await failing(error);
    expect([reply.status, reply.error.code]).toEqual([503, 'unavailable']);
  });

  test.each([
    ['a mistake in a statement', sqlError('42703')],
    ['a value that no column takes', sqlError('22008')],
    ['a mistake in the code', new TypeError(`${SECRET_VALUE} is undefined`)],
  ])('is 500 for %s, an error in the log that quotes nothing', async (_what, error) => {
    const { reply, log } = await failing(error);
    expect([reply.status, reply.error.code]).toEqual([500, 'internal']);
    expect(log.map(({ level }) => level)).toEqual(['error']);
    expect(JSON.stringify([reply, log])).not.toContain(SECRET_VALUE);
  });

  test('that takes too long promises nothing', async () => {
    const routes = writingRoutes(() => new Promise(() => undefined));
    const { url } = await startServer({ routes, limits: { requestDeadlineMs: 30 } });
    const reply = await send(url, write);
    expect([reply.status, reply.error.code]).toEqual([504, 'outcome_unknown']);
    expect(reply.message).toContain('not known');
  });
});

describe('an action', () => {
  const ask = async (write: Write) => {
    const { url } = await startServer({ routes: writingRoutes(() => Promise.reject(new Error('was written'))) });
    return send(url, write);
  };
  const pickUp = `/driver/orders/${ORDER}/pick-up`;
  const deliver = `/driver/orders/${ORDER}/deliver`;

  test.each(['0000-01-01T00:00:00Z', '1969-12-31T23:59:59Z', '2026-02-03T25:00:00Z', '2026-02-30T12:00:00Z'])(
    'captured at %s is refused by its field',
    async (time) => {
      const replies = [
        await ask({ method: 'POST', path: pickUp, body: JSON.stringify({ captured_at: time }) }),
        await ask({ method: 'POST', path: `${deliver}?captured_at=${time}`, type: 'image/png', body: 'photo' }),
      ];
      for (const { status, error } of replies) {
        const fields = [{ field: 'captured_at', message: 'must be a time of the calendar, from 1970 to 9999' }];
        expect([status, error.fields]).toEqual([400, fields]);
      }
    },
  );

  test('with an unknown word in its query is refused by that word', async () => {
    const reply = await ask({ method: 'POST', path: `${deliver}?actionid=a`, type: 'image/jpeg', body: 'photo' });
    expect([reply.status, reply.error.fields]).toEqual([400, [{ field: 'actionid', message: 'is not known here' }]]);
  });
});

describe('the photo of a delivery', () => {
  test.each([
    ['is not kept where nothing was written', new StatementGivenUp('DEADLINE_UNSENT'), ['photo']],
    ['is kept where an order may have it', new StatementGivenUp('DEADLINE_SENT'), []],
  ])('%s', async (_what, error, expected) => {
    const discarded: string[] = [];
    const discard = async (name: string) => void discarded.push(name);
    const { url } = await startServer({ routes: writingRoutes(() => Promise.reject(error), { discard }) });
    await send(url, WRITES.at(-1) as Write);
    expect(discarded).toEqual(expected);
  });

  test.each([
    ['ENOSPC', ': the disk is full'],
    ['NoSuchBucket', ': there is no such bucket'],
    ['Unknown', ''],
  ])('that is not stored for %s is a 503 that says why', async (code, why) => {
    const photos = { store: () => Promise.reject(new PhotoStorageError(code)), failureCause: photoFailureCause };
    const { url } = await startServer({
      routes: writingRoutes(() => Promise.reject(new Error('was written')), photos),
    });
    const { status, message } = await send(url, WRITES.at(-1) as Write);
    const said = `The photo could not be stored${why}. Nothing was changed; keep it and try again.`;
    expect([status, message]).toEqual([503, said]);
  });
});
