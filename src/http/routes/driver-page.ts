import { anyone, type Reply, type Route } from '../../transport/route.ts';

type PageReply = {
  readonly status: number;
  readonly headers: readonly (readonly [name: string, value: string])[];
  readonly body: string | Uint8Array;
};

/** The driver's page: its shell, what a phone needs to install it, and its service worker. The same for everybody. */
export function driverPageRoutes(deps: {
  readonly page: () => PageReply;
  readonly manifest: () => PageReply;
  readonly worker: () => PageReply;
}): Route<null>[] {
  const route = (pattern: string, file: () => PageReply): Route<null> => ({
    method: 'get',
    pattern,
    authenticate: anyone,
    handle: () => toReply(file()),
  });
  return [
    route('/driver', deps.page),
    route('/driver/manifest.webmanifest', deps.manifest),
    route('/driver/worker.js', deps.worker),
  ];
}

function toReply({ status, headers, body }: PageReply): Reply {
  return {
    status,
    headers: Object.fromEntries(headers),
    body: typeof body === 'string' ? body : Buffer.from(body.buffer, body.byteOffset, body.byteLength),
  };
}
