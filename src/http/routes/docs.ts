import { type Assets, acceptsGzip } from '../../pages/assets.ts';
import { html } from '../../pages/html.ts';
import { pageHeaders } from '../../pages/page-headers.ts';
import { bytes } from '../../transport/reply.ts';
import { anyone, type Reply, type RequestHead, type Route } from '../../transport/route.ts';
import type { ServedDocument } from '../openapi/served.ts';

/** The documents by whom they are for. */
export type ApiDocuments = { readonly stores: ServedDocument; readonly drivers: ServedDocument };

/**
 * `GET /openapi.json` and `GET /openapi-drivers.json`, and the pages that show them, `GET /docs` and
 * `GET /docs/drivers`. Both hold nothing of any store, so anybody may read them.
 */
export function docsRoutes(parts: {
  readonly documents: ApiDocuments;
  readonly assets: Assets;
  readonly sandbox: boolean;
}): Route<null>[] {
  const { documents, assets, sandbox } = parts;
  const headers = pageHeaders(null, null);
  const files = { script: assets.path('docs.js'), style: assets.path('docs.css'), icon: assets.path('icon.svg') };
  const page = (url: string): (() => Reply) => {
    const body = shell(url, sandbox, files);
    return () => ({ status: 200, headers, body });
  };
  return [
    get('/openapi.json', (head) => documentReply(documents.stores, head)),
    get('/openapi-drivers.json', (head) => documentReply(documents.drivers, head)),
    get('/docs', page('/openapi.json')),
    get('/docs/drivers', page('/openapi-drivers.json')),
  ];
}

function get(pattern: string, answer: (head: RequestHead) => Reply): Route<null> {
  return { method: 'get', pattern, authenticate: anyone, handle: ({ head }) => answer(head) };
}

function documentReply({ plain, gzipped, etag }: ServedDocument, head: RequestHead): Reply {
  const headers = { ETag: etag, 'Cache-Control': 'public, max-age=300', Vary: 'Accept-Encoding' };
  const known = head.header('if-none-match')?.split(',') ?? [];
  // A proxy that compresses marks the tag as weak.
  if (known.some((tag) => [etag, `W/${etag}`].includes(tag.trim()))) return { status: 304, headers, body: '' };
  const gzip = acceptsGzip(head.header('accept-encoding') ?? '');
  return bytes(200, 'application/json; charset=utf-8', gzip ? gzipped : plain, {
    ...headers,
    ...(gzip ? { 'Content-Encoding': 'gzip' } : {}),
  });
}

/** The page, which holds no script of its own: its script reads `data-url`. */
function shell(
  url: string,
  sandbox: boolean,
  files: { readonly script: string; readonly style: string; readonly icon: string },
): string {
  const hint = html`<p id="hint">This is the sandbox: nothing is charged, texted or driven. "Authorize" takes the
<code>apiKey</code> of <code>sandbox.json</code> in the data folder (<code>.data</code>, or <code>DATA_DIR</code>); the
service prints it when it starts. <code>retailer_id</code> of the examples is that of the demo store, unless the folder
is older than this page: then take <code>retailerId</code> of the same file.</p>`;
  return html`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="robots" content="noindex, nofollow">
<title>Sameday API</title>
<link rel="icon" href="${files.icon}" type="image/svg+xml">
<link rel="stylesheet" href="${files.style}">
<script type="module" src="${files.script}"></script>
</head>
<body>
<header class="top">
<nav aria-label="Documents"><a href="/docs">Stores</a> <a href="/docs/drivers">Drivers</a>
<a href="${url}">${url}</a></nav>
${sandbox ? hint : null}</header>
<main id="docs" data-url="${url}"><noscript>This page needs JavaScript. The document is at ${url}.</noscript></main>
</body>
</html>
`.text;
}
