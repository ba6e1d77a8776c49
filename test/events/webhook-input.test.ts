import { describe, expect, it } from 'vitest';
import { STORE_EVENT_TYPES } from '../../src/domain/store-event.ts';
import { resultForStore } from '../../src/domain/webhook.ts';
import { validateNewWebhook, validateWebhookChange } from '../../src/events/webhook-input.ts';
import { createOwnerRate } from '../../src/events/webhook-owner.ts';
import { MAX_WEBHOOK_URL_LENGTH } from '../../src/limits.ts';

const URL_OF_STORE = 'https://store.test/hook';
const fieldsOf = (body: Record<string, unknown>, sandbox = false) => {
  const result = validateNewWebhook(body, sandbox);
  return 'fields' in result ? result.fields.map(({ field, message }) => `${field} ${message}`) : [];
};

describe('a new webhook', () => {
  it('is told of all types where it names none, or *', () => {
    for (const types of [{}, { event_types: ['*'] }]) {
      expect(validateNewWebhook({ url: ` ${URL_OF_STORE} `, ...types }, false)).toEqual({
        ok: { url: URL_OF_STORE, eventTypes: null },
      });
    }
    expect(validateNewWebhook({ url: URL_OF_STORE, event_types: [...STORE_EVENT_TYPES] }, false)).toEqual({
      ok: { url: URL_OF_STORE, eventTypes: STORE_EVENT_TYPES },
    });
  });

  it.each<[string, Record<string, unknown>, string[]]>([
    ['no URL', {}, ['url is required']],
    ['an empty URL', { url: '' }, ['url must not be empty']],
    ['a URL of another kind', { url: 1 }, ['url must be a string']],
    ['no https', { url: 'http://store.test/' }, ['url must start with https://']],
    ['credentials', { url: 'https://a:b@store.test/' }, ['url must not hold a user name or a password']],
    ['a private address', { url: 'https://0x7f.1/' }, ['url is not on the public Internet']],
    ['the cloud’s own address', { url: 'https://169.254.169.254/' }, ['url is not on the public Internet']],
    ['no types', { url: URL_OF_STORE, event_types: [] }, ['event_types must not be empty']],
    [
      'a type twice',
      { url: URL_OF_STORE, event_types: ['order.paid', 'order.paid'] },
      ['event_types must not have an entry twice'],
    ],
    [
      'all types and one',
      { url: URL_OF_STORE, event_types: ['*', 'order.paid'] },
      ['event_types must be "*" alone, or types'],
    ],
    ['no list of types', { url: URL_OF_STORE, event_types: 'order.paid' }, ['event_types must be a list']],
    ['null', { url: null, event_types: null }, ['url must be a string', 'event_types must be a list']],
    ['a misspelt name', { url: URL_OF_STORE, event_type: ['order.paid'] }, ['event_type is not known here']],
  ])('with %s is refused by name', (_what, body, expected) => {
    expect(fieldsOf(body)).toEqual(expected);
  });

  it('with an unknown type is refused by its place', () => {
    const [field = ''] = fieldsOf({ url: URL_OF_STORE, event_types: ['order.paid', 'order.eaten'] });
    expect(field).toMatch(/^event_types\[1\] must be one of \*, order\./);
  });

  it('with a URL that is long as it is sent is refused, whatever length it was typed in', () => {
    for (const path of ['a'.repeat(MAX_WEBHOOK_URL_LENGTH), 'é'.repeat(MAX_WEBHOOK_URL_LENGTH / 2)]) {
      expect(fieldsOf({ url: `https://store.test/${path}` })[0]).toMatch(/^url .*2000 characters/);
    }
  });

  it('in the sandbox may be on this machine, and nowhere else in its network', () => {
    expect(fieldsOf({ url: 'http://127.0.0.1:9000/' }, true)).toEqual([]);
    expect(fieldsOf({ url: 'http://10.0.0.1/' }, true)).toEqual(['url is not on the public Internet']);
    expect(fieldsOf({ url: 'ftp://127.0.0.1/' }, true)).toEqual(['url must start with https:// or http://']);
  });
});

describe('a change of a webhook', () => {
  it('holds what was sent, and nothing else', () => {
    expect(validateWebhookChange({}, false)).toEqual({ ok: {} });
    expect(validateWebhookChange({ enabled: false, event_types: ['*'] }, false)).toEqual({
      ok: { enabled: false, eventTypes: null },
    });
    expect(validateWebhookChange({ enabled: 'no', secret: 'whsec_x' }, false)).toEqual({
      fields: [
        { field: 'secret', message: 'is not known here' },
        { field: 'enabled', message: 'must be true or false' },
      ],
    });
  });
});

it('a store learns nothing of names and addresses in the operator’s network', () => {
  const told = ['forbidden_address', 'name_not_resolved', 'unreachable', 'connection_lost', 'bad_url', 'busy'];
  expect(new Set(told.map(resultForStore))).toEqual(new Set(['unreachable']));
  expect(['204', '500', 'timeout', 'tls_failed', 'no_endpoint'].map(resultForStore)).toEqual([
    '204',
    '500',
    'timeout',
    'tls_failed',
    'no_endpoint',
  ]);
});

it('each owner has a rate of its own', async () => {
  const count = createOwnerRate(2, 60, 'too often');
  const [one, other] = [{ kind: 'store', id: 'one' } as const, { kind: 'store', id: 'other' } as const];
  await count(one);
  await count(one);
  await expect(count(one)).rejects.toMatchObject({ code: 'rate_limited', message: 'too often' });
  await expect(count(one)).rejects.toMatchObject({ retryAfterSeconds: expect.any(Number) });
  await count(other);
});
