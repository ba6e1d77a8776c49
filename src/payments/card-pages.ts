import type { Assets } from '../pages/assets.ts';
import { html } from '../pages/html.ts';
import { pageHeaders } from '../pages/page-headers.ts';
import { anyone, type Route } from '../transport/route.ts';

/**
 * `GET /card/done` and `GET /card/cancelled`: where Stripe's page leads a store after it gave its card, or did
 * not. They are the same for everybody, and say nothing of the store.
 */
export function cardPageRoutes(parts: {
  readonly assets: Pick<Assets, 'path'>;
  readonly publicUrl: string | null;
}): Route<null>[] {
  const { assets } = parts;
  const headers = pageHeaders(null, parts.publicUrl);
  const page = (pattern: string, headline: string, detail: string): Route<null> => {
    const body = html`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<meta name="robots" content="noindex, nofollow">
<title>${headline}</title>
<link rel="icon" href="${assets.path('icon.svg')}" type="image/svg+xml">
<link rel="stylesheet" href="${assets.path('track.css')}">
</head>
<body>
<header class="top"><p>Card for deliveries</p></header>
<main id="notice">
  <section class="now" data-tone="plain">
    <h1>${headline}</h1>
    <p>${detail}</p>
  </section>
</main>
</body>
</html>
`.text;
    return { method: 'get', pattern, authenticate: anyone, handle: () => ({ status: 200, headers, body }) };
  };
  return [
    page('/card/done', 'Thank you', 'Stripe has the card. Deliveries are charged to it from now on.'),
    page('/card/cancelled', 'No card was given', 'Nothing was changed. The link can be opened again for a day.'),
  ];
}
