import { Ajv2020, type ValidateFunction } from 'ajv/dist/2020.js';
import { driversDocument, storesDocument } from '../../src/http/openapi/document.ts';
import { allRoutes } from './all-routes.ts';

type Json = { readonly [name: string]: unknown };
type Media = {
  readonly schema?: Json;
  readonly example?: unknown;
  readonly examples?: Record<string, { value: unknown }>;
};
type Reply = { readonly $ref?: string; readonly content?: Record<string, Media> };
export type Item = {
  readonly operationId: string;
  readonly tags: readonly string[];
  readonly security: readonly Json[];
  readonly responses: Record<string, Reply>;
  readonly requestBody?: { content: Record<string, Media> };
};
export type Document = {
  readonly tags: readonly { readonly name: string; readonly description?: string }[];
  readonly paths: Record<string, Record<string, Item>>;
  readonly webhooks?: Record<string, { readonly post: Item }>;
  readonly components: { readonly schemas: Record<string, Json>; readonly responses: Record<string, Reply> };
};

/** One reply of the service. */
export type SeenReply = {
  readonly method: string;
  readonly path: string;
  readonly status: number;
  readonly contentType: string;
  readonly text: string;
};

/** Both documents, as the service serves them. */
export async function apiDocuments(): Promise<{ readonly stores: Document; readonly drivers: Document }> {
  const routes = await allRoutes();
  return { stores: storesDocument(routes) as Document, drivers: driversDocument(routes) as Document };
}

/** What the document says of replies and webhooks, and whether what was seen is that. */
export class ApiCheck {
  readonly document: Document;
  readonly #ajv = new Ajv2020({ strict: false, allErrors: true, formats: FORMATS });
  readonly #fits = new Map<string, ValidateFunction>();
  readonly #patterns: readonly { readonly path: string; readonly form: RegExp }[];

  constructor(document: Document) {
    this.document = document;
    // Longer fixed parts first, so that /orders/create is not an id.
    this.#patterns = Object.keys(document.paths)
      .sort((a, b) => a.split('{').length - b.split('{').length)
      .map((path) => ({ path, form: new RegExp(`^${path.replaceAll(/\{\w+\}/g, '[^/]+')}$`) }));
    this.#ajv.addSchema({ $id: 'document', components: { schemas: sealed(document.components.schemas) } });
  }

  /** The operation of a request; undefined where the document has none. */
  operationOf(method: string, path: string): Item | undefined {
    const name = method.toLowerCase();
    return this.#patterns
      .filter(({ form }) => form.test(path))
      .map((pattern) => this.document.paths[pattern.path]?.[name])
      .find((item) => item !== undefined);
  }

  /** What the document does not say of this reply; null where it says all of it, or does not have the route. */
  problemOf({ method, path, status, contentType, text }: SeenReply): string | null {
    const item = this.operationOf(method, path);
    if (!item) return null;
    const said = item.responses[status];
    const reply =
      said?.$ref === undefined ? said : this.document.components.responses[said.$ref.split('/').at(-1) ?? ''];
    const about = `${method} ${path} ${status}`;
    if (!reply) return `${about}: the document has no such status: ${text.slice(0, 300)}`;
    const type = contentType.split(';')[0]?.trim() ?? '';
    const media = reply.content?.[type];
    if (!media) return `${about}: the document has no reply of type "${type}"`;
    if (!media.schema) return null;
    return this.#problem(about, media.schema, JSON.parse(text));
  }

  /** The same for the body of a webhook. */
  problemOfWebhook(body: { readonly type: string }): string | null {
    const schema = this.document.webhooks?.[body.type]?.post.requestBody?.content['application/json']?.schema;
    return schema ? this.#problem(`webhook ${body.type}`, schema, body) : `the document has no webhook ${body.type}`;
  }

  /** Whether a value fits a schema of the document, with no more than it names. */
  #problem(about: string, schema: Json, value: unknown): string | null {
    const source = JSON.stringify(schema);
    let fits = this.#fits.get(source);
    if (!fits) {
      const rooted = source.replaceAll('"#/components/', '"document#/components/');
      fits = this.#ajv.compile(sealed(JSON.parse(rooted) as Json));
      this.#fits.set(source, fits);
    }
    if (fits(value)) return null;
    const wrong = this.#ajv.errorsText(fits.errors, { dataVar: 'body' }).slice(0, 1_000);
    return `${about}: ${wrong}: ${JSON.stringify(value).slice(0, 500)}`;
  }
}

/** The formats that fields have. */
export const FORMATS = {
  uuid: /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/,
  'date-time': /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d{1,9})?(?:Z|[+-]\d\d:\d\d)$/,
};

/**
 * The schema with every object closed to members that it does not name. Readers of the document ignore what
 * they do not know; the tests do not. Parts of an `allOf` add to another part and stay open.
 */
export function sealed<Schema>(schema: Schema): Schema {
  if (Array.isArray(schema)) return schema.map(sealed) as Schema;
  if (typeof schema !== 'object' || schema === null) return schema;
  const copy = Object.fromEntries(
    Object.entries(schema).map(([name, value]) => [name, KEPT.has(name) ? value : sealed(value as unknown)]),
  );
  const isObject = copy.type === 'object' || (Array.isArray(copy.type) && copy.type.includes('object'));
  return (isObject && 'properties' in copy ? { additionalProperties: false, ...copy } : copy) as Schema;
}

/** What holds values, or open parts of a schema. */
const KEPT: ReadonlySet<string> = new Set(['allOf', 'enum', 'const', 'examples', 'example', 'required']);
