import { Ajv2020 } from 'ajv/dist/2020.js';
import { describe, expect, test } from 'vitest';
import { ERROR_CODES } from '../../src/domain/errors.ts';
import { RATE_HEADERS } from '../../src/http/openapi/components.ts';
import { driversDocument, storesDocument } from '../../src/http/openapi/document.ts';
import { served } from '../../src/http/openapi/served.ts';
import { docsRoutes } from '../../src/http/routes/docs.ts';
import { ordersBatch } from '../../src/http/routes/orders-batch.ts';
import { ordersCreate } from '../../src/http/routes/orders-create.ts';
import { quotesRoute } from '../../src/http/routes/quotes.ts';
import { orderExtras } from '../../src/http/schemas.ts';
import { validators } from '../../src/http/validators.js';
import type { Assets } from '../../src/pages/assets.ts';
import { allRoutes } from '../harness/all-routes.ts';
import { ApiCheck, apiDocuments, FORMATS, type Item, sealed } from '../harness/api-document.ts';
import { letIn, replyOf, startServer } from './support.ts';

const { stores, drivers } = await apiDocuments();
const both = [
  ['/openapi.json', stores],
  ['/openapi-drivers.json', drivers],
] as const;

/** Every operation of a document, with its method and path. */
const operationsOf = ({ paths }: typeof stores) =>
  Object.entries(paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, item]) => ({ name: `${method} ${path}`, ...item })),
  );

/** Pages, their files, the documents themselves, what is for Prometheus, and what the vendors call. */
const NO_API = [
  '/assets/:name',
  '/card/cancelled',
  '/card/done',
  '/docs',
  '/docs/drivers',
  '/driver',
  '/driver/manifest.webmanifest',
  '/driver/worker.js',
  '/metrics',
  '/openapi-drivers.json',
  '/openapi.json',
  '/stripe/webhook',
  '/track/:token',
  '/twilio/inbound',
  '/twilio/status',
];

test('every route of the API is in a document, and nothing else is', async () => {
  const known = await allRoutes();
  const without = known.filter(({ operation }) => operation === undefined).map(({ pattern }) => pattern);
  expect(without.toSorted()).toEqual(NO_API);
  const shown = both.flatMap(([, document]) => operationsOf(document).map(({ name }) => name));
  const routes = known.filter(({ operation }) => operation !== undefined);
  const named = routes.map(({ method, pattern }) => `${method} ${pattern.replaceAll(/:(\w+)/g, '{$1}')}`);
  expect(shown.toSorted()).toEqual(named.toSorted());
  expect(shown.filter((each) => each.includes(' /driver'))).toEqual(operationsOf(drivers).map(({ name }) => name));
});

test('operations have names of their own', () => {
  const ids = both.flatMap(([, document]) => operationsOf(document).map(({ operationId }) => operationId));
  expect(ids.filter((id) => !/^[a-z][A-Za-z]+$/.test(id))).toEqual([]);
  expect(new Set(ids).size).toBe(ids.length);
});

describe.each(both)('%s', (_name, document) => {
  test('tells what each of its tags is', () => {
    const used = operationsOf(document).flatMap(({ tags }) => tags);
    const told = document.tags.flatMap(({ name, description }) => (description ? [name] : []));
    expect([...new Set(used)].filter((tag) => !told.includes(tag))).toEqual([]);
  });

  test('has a text for every field and every parameter', () => {
    const bare: string[] = [];
    walk(document, (value, path) => {
      const { properties } = value;
      if (typeof properties !== 'object' || path.includes('/allOf/')) return;
      for (const [name, property] of Object.entries(properties as object)) {
        if (!(property as { description?: string }).description) bare.push(`${path}/${name}`);
      }
    });
    walk(document, (value, path) => {
      if (typeof value.in === 'string' && !value.description) bare.push(path);
    });
    expect(bare).toEqual([]);
  });

  test('has examples that fit their own schemas, with nothing else in them', () => {
    const ajv = new Ajv2020({ strict: false, allErrors: true, formats: FORMATS });
    ajv.addSchema({ $id: 'document', components: sealed(document.components) });
    let count = 0;
    walk(document, (media, path) => {
      if (typeof media.schema !== 'object' || path.includes('/schemas/')) return;
      const schema = inDocument(sealed(media.schema));
      const examples = [
        ...('example' in media ? [media.example] : []),
        ...Object.values((media.examples ?? {}) as Record<string, { value: unknown }>).map(({ value }) => value),
      ];
      for (const example of examples) {
        count++;
        expect(ajv.validate(schema, example), `${path}: ${ajv.errorsText()}: ${JSON.stringify(example)}`).toBe(true);
      }
    });
    expect(count).toBeGreaterThan(10);
  });

  test('has examples of its fields, headers and parameters that fit their schemas', () => {
    const ajv = new Ajv2020({ strict: false, formats: FORMATS });
    ajv.addSchema({ $id: 'document', components: document.components });
    const wrong: string[] = [];
    walk(document, (value, path) => {
      const isParameter = typeof value.schema === 'object' && 'example' in value && !('content' in value);
      const isOfBody = path.includes('/content/') && !path.includes('/properties/');
      const examples = isParameter && !isOfBody ? [value.example] : Array.isArray(value.examples) ? value.examples : [];
      const { examples: _own, ...schema } = (isParameter ? value.schema : value) as Record<string, unknown>;
      for (const each of examples) {
        if (!ajv.validate(inDocument(schema), each))
          wrong.push(`${path}: ${JSON.stringify(each)}: ${ajv.errorsText()}`);
      }
    });
    expect(wrong).toEqual([]);
  });

  test('has patterns that other languages read: Python, and JavaScript without the flag u', () => {
    const patterns = new Set<string>();
    walk(document, ({ pattern }) => void (typeof pattern === 'string' && patterns.add(pattern)));
    expect(patterns.size).toBeGreaterThan(3);
    for (const pattern of patterns) {
      expect(() => new RegExp(pattern), pattern).not.toThrow();
      // What Python's re refuses, or what it reads otherwise.
      expect(pattern).not.toMatch(/\\[pPk]\b|\\u\{|\(\?<[^=!]|\[\^?\[|&&|\|\||~~/);
    }
  });

  test('tells of errors by the codes and statuses that the service has', () => {
    const told = new Set<string>();
    for (const { responses } of operationsOf(document)) {
      for (const [status, reply] of Object.entries(responses)) {
        if (reply.$ref === undefined) continue;
        const shown = document.components.responses[reply.$ref.split('/').at(-1) ?? ''];
        for (const code of Object.keys(shown?.content?.['application/json']?.examples ?? {})) {
          expect(String(ERROR_CODES[code as keyof typeof ERROR_CODES].status), code).toBe(status);
          told.add(code);
        }
      }
    }
    expect(told.size).toBeGreaterThan(8);
  });
});

test('the example of an order is one that the service takes', () => {
  const item = stores.paths['/orders/create']?.post as Item;
  expect(validators.placeOrder(item.requestBody?.content['application/json']?.example)).toBe(true);
});

test('every field of an order that may be absent may be null, but those of the contract', () => {
  const [body] = [stores.paths['/orders/create']?.post?.requestBody?.content['application/json']?.schema];
  const { $ref } = body as { $ref: string };
  const { properties } = stores.components.schemas[$ref.split('/').at(-1) ?? ''] as {
    properties: Record<string, { type: unknown }>;
  };
  const nullable = Object.keys(properties).filter((name) => [properties[name]?.type].flat().includes('null'));
  expect(nullable).toEqual(Object.keys(orderExtras));
});

test('numbers of a query are numbers, and the Idempotency-Key has its pattern', () => {
  const parametersOf = (path: string, method: string) =>
    (stores.paths[path]?.[method] as { parameters?: { name: string; schema: object }[] } | undefined)?.parameters ?? [];
  for (const path of ['/orders', '/events', '/webhooks/{id}/deliveries']) {
    for (const { name, schema } of parametersOf(path, 'get')) {
      if (['limit', 'wait'].includes(name)) expect(schema, `${path} ${name}`).toMatchObject({ type: 'integer' });
    }
  }
  const [key] = parametersOf('/orders/create', 'post');
  expect(key).toMatchObject({ name: 'Idempotency-Key', schema: { pattern: '^[ -~]+$' } });
});

test('every operation tells of 405 with Allow, and those with a rate of its headers', () => {
  const { headers } = stores.components as unknown as { headers: Record<string, object> };
  expect(Object.keys(headers)).toEqual(expect.arrayContaining(['Allow', ...RATE_HEADERS]));
  for (const { responses, operationId, security } of operationsOf(stores)) {
    expect(Object.keys(responses), operationId).toContain('405');
    const isOfStores = security.some((scheme) => 'api_key' in scheme);
    if (!isOfStores || !('429' in responses)) continue;
    const [done] = Object.values(responses) as unknown as { headers: object }[];
    expect(Object.keys(done?.headers ?? {}), operationId).toEqual(expect.arrayContaining([...RATE_HEADERS]));
  }
});

test('what only the sandbox has is in no other document', () => {
  const textOf = (isSandbox: boolean) => {
    const parts = { stores: letIn(null), dispatch: {}, isSandbox } as never;
    return JSON.stringify(storesDocument([ordersCreate(parts), ordersBatch(parts), quotesRoute(parts)]));
  };
  expect(textOf(true).split('"sandbox":').length - 1).toBe(3);
  expect(textOf(false)).not.toContain('"sandbox":');
});

test('a key of a chain is a way in where it reads, and nowhere else', () => {
  const taking = operationsOf(stores)
    .filter(({ security }) => security.some((scheme) => 'organization_key' in scheme))
    .map(({ name }) => name);
  const isOfReaders = /^get \/(orders|orders\/\{id\}|events)$|\/webhooks/;
  expect(taking.filter((each) => !isOfReaders.test(each))).toEqual([]);
  expect(taking.length).toBe(12);
});

test('a reply, a field or an error that the document does not name is found', async () => {
  const check = new ApiCheck(stores);
  const item = stores.paths['/orders/{id}']?.get as Item;
  const example = item.responses[200]?.content?.['application/json']?.example as { order: object };
  const seen = { method: 'GET', path: '/orders/01a2037d-1ae2-76a0-bb73-54073ca99160', contentType: 'application/json' };
  const problemOf = (status: number, body: unknown) => check.problemOf({ ...seen, status, text: JSON.stringify(body) });
  expect(problemOf(200, example)).toBeNull();
  expect(problemOf(200, { ...example, extra: 1 })).toContain('additional properties');
  expect(problemOf(200, { ...example, order: { ...example.order, extra: 1 } })).toContain('additional properties');
  expect(problemOf(200, { ...example, order: { ...example.order, status: 'lost' } })).toContain('/order/status');
  const { sequence: _gone, ...less } = example.order as { sequence: number };
  expect(problemOf(200, { ...example, order: less })).toContain("required property 'sequence'");
  expect(problemOf(202, example)).toContain('no such status');
  const error = (code: string) => ({
    success: false,
    message: '',
    error: { code, retryable: true, fields: [] },
    request_id: '',
  });
  expect(problemOf(404, error('not_found'))).toBeNull();
  expect(problemOf(503, error('queue_full'))).toContain('/error/code');
});

/** A server with the pages of the documents and nothing else. */
const assets: Assets = { path: (name) => `/assets/${name}`, serve: () => null };

async function serveDocs() {
  const documents = { stores: served(stores), drivers: served(drivers) };
  return startServer({ routes: docsRoutes({ documents, assets, sandbox: true }) });
}

test('the documents are cached by their tags, and compressed for whoever takes that', async () => {
  const { url } = await serveDocs();
  const first = await fetch(`${url}/openapi.json`, { headers: { 'accept-encoding': 'gzip' } });
  expect([first.status, first.headers.get('content-encoding')]).toEqual([200, 'gzip']);
  expect(first.headers.get('cache-control')).toBe('public, max-age=300');
  expect(await first.json()).toEqual(JSON.parse(JSON.stringify(stores)));
  const etag = first.headers.get('etag') ?? '';
  for (const tag of [etag, `W/${etag}`, `"other", ${etag}`]) {
    const again = await fetch(`${url}/openapi.json`, { headers: { 'if-none-match': tag } });
    expect([again.status, await again.text()]).toEqual([304, '']);
  }
  const other = await fetch(`${url}/openapi-drivers.json`, {
    headers: { 'if-none-match': etag, 'accept-encoding': 'identity' },
  });
  expect([other.status, other.headers.get('content-encoding')]).toEqual([200, null]);
  expect(other.headers.get('etag')).not.toBe(etag);
});

test('the page names its document and holds no script and no style of its own', async () => {
  const documents = { stores: served({}), drivers: served({}) };
  for (const [pattern, document] of [
    ['/docs', '/openapi.json'],
    ['/docs/drivers', '/openapi-drivers.json'],
  ] as const) {
    const reply = await replyOf(docsRoutes({ documents, assets, sandbox: false }), pattern);
    expect(reply.headers?.['Content-Security-Policy']).toMatch(
      /^default-src 'none'; script-src 'self'; style-src 'self'; /,
    );
    expect(String(reply.body)).toContain(`data-url="${document}"`);
    expect(String(reply.body)).not.toMatch(
      /<style|style=|<script(?! type="module" src="\/assets\/docs\.js")| on\w+=|sandbox/i,
    );
  }
});

test('two documents of the same routes are the same bytes', async () => {
  expect(served(driversDocument(await allRoutes())).etag).toBe(served(drivers).etag);
});

/** A schema whose parts are those of the schema `document`. */
function inDocument(schema: object | null): object {
  return JSON.parse(JSON.stringify(schema).replaceAll('"#/components/', '"document#/components/')) as object;
}

/** Calls `look` with every object below a value and the way to it. */
function walk(value: unknown, look: (object: Record<string, unknown>, path: string) => void, path = ''): void {
  if (typeof value !== 'object' || value === null) return;
  if (!Array.isArray(value)) look(value as Record<string, unknown>, path);
  for (const [name, inner] of Object.entries(value)) {
    if (name !== 'example' && name !== 'examples') walk(inner, look, `${path}/${name}`);
  }
}
