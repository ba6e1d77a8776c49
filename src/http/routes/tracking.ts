import { ServiceError } from '../../domain/errors.ts';
import { isTrackingToken } from '../../domain/ids.ts';
import { bytes, json } from '../../transport/reply.ts';
import { anyone, type Reply, type Route } from '../../transport/route.ts';
import { asAvailable } from '../outcomes.ts';

type PageReply = {
  readonly status: number;
  readonly headers: readonly (readonly [name: string, value: string])[];
  readonly body: string | Uint8Array;
};
type Lookup = { readonly kind: 'found'; readonly body: unknown } | { readonly kind: 'not_found' | 'gone' };

const NO_PHOTO_NOW = 'The photo cannot be fetched right now; please try again.';

/** What a customer's browser asks: the page, its status as JSON, the photo, and the files of the pages. */
export function trackingRoutes(deps: {
  readonly page: (token: string) => Promise<PageReply>;
  readonly status: (token: string) => Promise<Lookup>;
  readonly asset: (name: string, acceptEncoding: string) => PageReply | null;
  /** The photo of the handover behind a token that still works. */
  readonly photo: (token: string) => Promise<Buffer | null>;
}): Route<null>[] {
  return [
    {
      method: 'get',
      pattern: '/track/:token',
      authenticate: anyone,
      handle: async ({ head }) => toReply(await deps.page(head.params[0] ?? '')),
    },
    {
      method: 'get',
      pattern: '/track/:token/status',
      authenticate: anyone,
      async handle({ head }) {
        return json(200, bodyOf(await asAvailable(deps.status(head.params[0] ?? ''))));
      },
    },
    {
      method: 'get',
      pattern: '/track/:token/photo',
      authenticate: anyone,
      async handle({ head }) {
        const [token = ''] = head.params;
        bodyOf(await asAvailable(deps.status(token)));
        const photo = isTrackingToken(token) ? await asAvailable(deps.photo(token), NO_PHOTO_NOW) : null;
        if (!photo) throw new ServiceError('not_found', 'There is no photo.');
        return bytes(200, 'image/jpeg', photo, { 'Referrer-Policy': 'no-referrer' });
      },
    },
    {
      method: 'get',
      pattern: '/assets/:name',
      authenticate: anyone,
      handle({ head }) {
        const found = deps.asset(head.params[0] ?? '', head.header('accept-encoding') ?? '');
        if (!found) throw new ServiceError('not_found', 'There is no such file.');
        return toReply(found);
      },
    },
  ];
}

function bodyOf(found: Lookup): unknown {
  if (found.kind === 'found') return found.body;
  if (found.kind === 'gone') throw new ServiceError('gone', 'This link has expired.');
  throw new ServiceError('not_found', 'This link is not known.');
}

function toReply({ status, headers, body }: PageReply): Reply {
  return {
    status,
    headers: Object.fromEntries(headers),
    body: typeof body === 'string' ? body : Buffer.from(body.buffer, body.byteOffset, body.byteLength),
  };
}
