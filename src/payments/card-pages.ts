import type { Assets } from '../pages/assets.ts';
import { html } from '../pages/html.ts';
import { pageHeaders } from '../pages/page-headers.ts';
import { anyone, type Route } from '../transport/route.ts';
import { acceptedLanguages, type Language, languageOf } from '../words/words.ts';

type Words = { readonly headline: string; readonly detail: string };

/** What comes next is true for a card that the bank refuses, too: that shows by a charge alone. */
const DONE: Readonly<Record<Language, Words>> = {
  en: {
    headline: 'Thank you',
    detail:
      'Stripe is passing the card on to us. Your next deliveries are charged to it. If a charge fails, the delivery ' +
      'says so, and you can ask us for a new link to give another card. You can close this page.',
  },
  es: {
    headline: 'Gracias',
    detail:
      'Stripe nos está pasando la tarjeta. Sus próximas entregas se cobrarán a ella. Si un cobro falla, la entrega ' +
      'lo indica, y usted puede pedirnos otro enlace para dar otra tarjeta. Puede cerrar esta página.',
  },
};
const CANCELLED: Readonly<Record<Language, Words>> = {
  en: { headline: 'No card was given', detail: 'Nothing was changed. The link can be opened again for a day.' },
  es: {
    headline: 'No se dio ninguna tarjeta',
    detail: 'Nada cambió. El enlace se puede abrir de nuevo durante un día.',
  },
};
const TOP: Readonly<Record<Language, string>> = { en: 'Card for deliveries', es: 'Tarjeta para las entregas' };

/**
 * `GET /card/done` and `GET /card/cancelled`: where Stripe's page leads a store after it gave its card, or did
 * not. They are the same for every reader of a language, and say nothing of the store.
 */
export function cardPageRoutes(parts: {
  readonly assets: Pick<Assets, 'path'>;
  readonly publicUrl: string | null;
}): Route<null>[] {
  const { assets } = parts;
  const headers = { ...pageHeaders(null, parts.publicUrl), Vary: 'Accept-Language' };
  const bodyOf = ({ headline, detail }: Words, language: Language): string =>
    html`<!doctype html>
<html lang="${language}">
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
<header class="top"><p>${TOP[language]}</p></header>
<main id="notice">
  <section class="now" data-tone="plain">
    <h1>${headline}</h1>
    <p>${detail}</p>
  </section>
</main>
</body>
</html>
`.text;
  const page = (pattern: string, words: Readonly<Record<Language, Words>>): Route<null> => ({
    method: 'get',
    pattern,
    authenticate: anyone,
    handle({ head }) {
      const language = languageOf(acceptedLanguages(head.header('accept-language') ?? ''));
      return { status: 200, headers, body: bodyOf(words[language], language) };
    },
  });
  return [page('/card/done', DONE), page('/card/cancelled', CANCELLED)];
}
