import { WEBHOOK_TEST_TYPE } from '../../domain/webhook.ts';
import type { Operation } from '../../transport/operation.ts';
import type { Route } from '../../transport/route.ts';
import { Components, exampleOf } from './components.ts';
import { operationItem, type ShownRoute, schemesOf } from './path-item.ts';
import { TEST_WEBHOOK, titleOf, WEBHOOKS, webhookBody } from './webhooks.ts';

/** The version of the API: it grows with what is taken away or changed, not with what is added. */
const API_VERSION = '1.0.0';

const SECURITY = {
  api_key: {
    type: 'http',
    scheme: 'bearer',
    description: "The store's API key. Status 401 says that it is missing, wrong, or another store's.",
  },
  organization_key: {
    type: 'http',
    scheme: 'bearer',
    description: 'The key of an organization of stores, which only reads, and has webhooks of its own.',
  },
  driver_token: { type: 'http', scheme: 'bearer', description: "The driver's token, which the operator gives out." },
};

const TAGS: Readonly<Record<string, string>> = {
  Orders: 'Create, follow and cancel orders of a store.',
  Tracking: 'What the customer of an order sees. The tracking token in the address lets in whoever has it.',
  Account: 'The store that a key belongs to.',
  Service: 'How the service is.',
  Events: 'What happened to the orders of a store.',
  Webhooks: 'What the service sends to a store, and where.',
  Sandbox: 'What only the sandbox has.',
  Driver: 'Duty, position and order of a driver.',
  Actions: 'What a driver does with an order.',
  Phone: "What a driver's phone has beside the page: a link to sign in, a tracking app, and pushes.",
};

const DRIVER_TAGS: ReadonlySet<string> = new Set(['Driver', 'Actions', 'Phone']);

/** The OpenAPI 3.1 document of stores: every route with an operation, but for those of drivers. */
export function storesDocument(routes: readonly Route[]): object {
  const components = new Components();
  const webhooks = Object.fromEntries(
    [...Object.keys(WEBHOOKS), WEBHOOK_TEST_TYPE].map((type) => [type, webhookItem(type, components)]),
  );
  const about = 'What the fields mean together, and how to retry, is in `docs/integrate.md` of the project.';
  return document('Sameday', about, ofStores(shown(routes)), components, { webhooks });
}

/** The one of drivers. */
export function driversDocument(routes: readonly Route[]): object {
  const about = 'What a phone needs to know of these, and the WebSocket, are in `docs/drive.md` of the project.';
  return document('Sameday for drivers', about, ofDrivers(shown(routes)), new Components(), {});
}

const shown = (routes: readonly Route[]): ShownRoute[] =>
  routes.flatMap((route) => (route.operation ? [{ ...route, operation: route.operation }] : []));
/** By the tag, as a phone that signs in, or only reports positions, has no driver's token. */
const isOfDrivers = ({ operation }: { readonly operation: Operation }): boolean => DRIVER_TAGS.has(operation.tag);
const ofDrivers = (routes: readonly ShownRoute[]): ShownRoute[] => routes.filter(isOfDrivers);
const ofStores = (routes: readonly ShownRoute[]): ShownRoute[] => routes.filter((route) => !isOfDrivers(route));

function document(
  title: string,
  description: string,
  routes: readonly ShownRoute[],
  components: Components,
  more: { readonly webhooks?: object },
): object {
  const paths = pathsOf(routes, components);
  const tags = new Set(routes.map(({ operation }) => operation.tag));
  if (more.webhooks) tags.add('Webhooks');
  const secrets = new Set(routes.flatMap(({ operation }) => schemesOf(operation.secret)));
  return {
    openapi: '3.1.0',
    info: { title, version: API_VERSION, description, license: { name: 'MIT', identifier: 'MIT' } },
    servers: [{ url: '/', description: 'The service that serves this document.' }],
    tags: Object.entries(TAGS).flatMap(([name, says]) => (tags.has(name) ? [{ name, description: says }] : [])),
    paths,
    ...more,
    components: {
      schemas: components.schemas,
      responses: components.responses,
      headers: components.headers,
      securitySchemes: Object.fromEntries(Object.entries(SECURITY).filter(([name]) => secrets.has(name))),
    },
  };
}

function pathsOf(routes: readonly ShownRoute[], components: Components): Record<string, object> {
  const paths: Record<string, Record<string, object>> = {};
  for (const route of routes) {
    const path = route.pattern.replaceAll(/:(\w+)/g, '{$1}');
    paths[path] = { ...paths[path], [route.method]: operationItem(route, components) };
  }
  return paths;
}

function webhookItem(type: string, components: Components): object {
  const { summary, example } = WEBHOOKS[type] ?? { summary: 'A test that was asked for', example: {} };
  const schema = type === WEBHOOK_TEST_TYPE ? TEST_WEBHOOK : webhookBody(type);
  const body = exampleOf(schema, 'always') as { readonly data: object };
  return {
    post: {
      operationId: titleOf(type),
      tags: ['Webhooks'],
      summary,
      description: 'Signed as Standard Webhooks says: `webhook-id`, `webhook-timestamp`, `webhook-signature`.',
      security: [],
      requestBody: {
        required: true,
        content: {
          'application/json': {
            schema: components.use(schema),
            example: { ...body, data: { ...body.data, ...example } },
          },
        },
      },
      responses: {
        '2XX': { description: 'Taken; it is not sent again.' },
        '4XX': { description: 'Not taken; it is sent again later. A 410 disables the webhook.' },
      },
    },
  };
}
