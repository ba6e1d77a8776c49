import type { ErrorCode } from '../../domain/errors.ts';
import { PRINTABLE_ASCII } from '../../domain/idempotency.ts';
import { MAX_IDEMPOTENCY_KEY_LENGTH } from '../../limits.ts';
import type { JsonSchema, Operation, Secret } from '../../transport/operation.ts';
import type { Route } from '../../transport/route.ts';
import { MAX_EVENT_WAIT_SECONDS } from '../field-errors.ts';
import { DEFAULT_PAGE_SIZE, EVENT_WAIT, PAGE_SIZE, UTC_OFFSET } from '../schemas.ts';
import { type Components, exampleOf, type HeaderName, RATE_HEADERS } from './components.ts';
import { errorReplies } from './errors.ts';
import { textOf } from './field-texts.ts';
import { ID, TRACKING_TOKEN } from './schema.ts';

/** A route that the document shows. */
export type ShownRoute = Pick<Route, 'method' | 'pattern' | 'body' | 'onDeadline'> & { readonly operation: Operation };

/** An operation as OpenAPI writes it: what the route declares, and what follows from its address and body. */
export function operationItem(route: ShownRoute, components: Components): object {
  const { operation } = route;
  const schemes = schemesOf(operation.secret);
  const parameters = parametersOf(route, components);
  const body = bodyOf(route, components);
  return {
    operationId: operation.id,
    tags: [operation.tag],
    summary: operation.summary,
    ...(operation.description ? { description: operation.description } : {}),
    security: schemes.map((scheme) => ({ [scheme]: [] })),
    ...(parameters.length > 0 ? { parameters } : {}),
    ...(body ? { requestBody: body } : {}),
    responses: {
      ...Object.fromEntries(
        Object.entries(operation.replies).map(([status, reply]) => [status, replyItem(operation, reply, components)]),
      ),
      ...errorReplies(errorsOf(route, schemes.length > 0), components),
    },
  };
}

/** The bearer secrets that each let a caller in. */
export function schemesOf(secret: Secret): readonly string[] {
  switch (secret) {
    case 'api_key':
    case 'driver_token':
      return [secret];
    case 'read_key':
      return ['api_key', 'organization_key'];
    case 'tracking_token':
    case 'none':
      return [];
  }
}

/** Those that the route tells of, and those of the order of checks that every route has (`Exchange`). */
function errorsOf({ operation, body, onDeadline }: ShownRoute, isBearer: boolean): ReadonlySet<ErrorCode> {
  const ofBody: ErrorCode[] = body ? ['payload_too_large', 'unsupported_media_type', 'request_timeout'] : [];
  return new Set<ErrorCode>([
    ...operation.errors,
    'invalid_request',
    'method_not_allowed',
    'internal',
    'unavailable',
    ...(isBearer ? (['unauthorized'] as const) : []),
    // The contract has 401 for every key that creates no order of the store.
    ...(operation.secret === 'api_key' && operation.id !== 'createOrder' ? (['forbidden'] as const) : []),
    ...ofBody,
    ...(operation.body ? (['malformed_json'] as const) : []),
    ...(onDeadline ? [onDeadline] : []),
  ]);
}

function parametersOf({ pattern, operation }: ShownRoute, components: Components): object[] {
  const [, root = ''] = pattern.split('/');
  const ofPath = [...pattern.matchAll(/:(\w+)/g)].map(([, name = '']) => ({
    name,
    in: 'path',
    required: true,
    description: textOf([root, 'path', name])?.says,
    schema: name === 'token' ? TRACKING_TOKEN : ID,
    example: textOf([root, 'path', name])?.example,
  }));
  const { properties = {} } = (operation.query ?? {}) as { properties?: Record<string, JsonSchema> };
  const ofQuery = Object.entries(properties).map(([name, schema]) => ({
    name,
    in: 'query',
    required: false,
    description: textOf([root, 'query', name])?.says,
    schema: numberOf(schema) ?? components.use(schema),
  }));
  return [...ofPath, ...ofQuery, ...(operation.idempotent ? [IDEMPOTENCY_KEY] : [])];
}

/** Texts of a query that hold numbers, as their readers know them. */
const NUMBERS: Readonly<Record<string, JsonSchema>> = {
  [PAGE_SIZE]: { type: 'integer', minimum: 1, maximum: 100, default: DEFAULT_PAGE_SIZE },
  [EVENT_WAIT]: { type: 'integer', minimum: 0, maximum: MAX_EVENT_WAIT_SECONDS, default: 0 },
  [UTC_OFFSET]: { type: 'integer', minimum: -999, maximum: 999 },
};
const numberOf = ({ pattern }: JsonSchema): JsonSchema | undefined => NUMBERS[String(pattern)];

const IDEMPOTENCY_KEY_TEXT = {
  type: 'string',
  minLength: 1,
  maxLength: MAX_IDEMPOTENCY_KEY_LENGTH,
  pattern: PRINTABLE_ASCII,
};
const IDEMPOTENCY_KEY = {
  name: 'Idempotency-Key',
  in: 'header',
  required: false,
  description: 'Makes it safe to send the request again. Use a new one for each thing that is to be done.',
  schema: IDEMPOTENCY_KEY_TEXT,
  example: 'order-of-the-api-page',
};

function bodyOf({ body, operation }: ShownRoute, components: Components): object | null {
  if (!body) return null;
  const { body: schema } = operation;
  const content = schema
    ? { 'application/json': { schema: components.use(schema), example: exampleOf(schema, 'all') } }
    : Object.fromEntries(body.contentTypes.map((type) => [type, {}]));
  return { required: body.optional !== true, content };
}

function replyItem(
  { idempotent, errors, secret }: Operation,
  reply: Operation['replies'][number],
  components: Components,
): object {
  const { contentType } = reply;
  const isJson = typeof contentType !== 'string';
  const isRated = errors.includes('rate_limited') && (secret === 'api_key' || secret === 'read_key');
  const headers: HeaderName[] = ['X-Request-Id', ...(isRated ? RATE_HEADERS : [])];
  if (idempotent) headers.push('Idempotent-Replayed');
  const media = isJson ? { schema: components.use(reply), example: exampleOf(reply, 'always') } : {};
  return {
    description: 'Done.',
    headers: components.useHeaders(...headers),
    content: { [isJson ? 'application/json' : contentType]: media },
  };
}
