import { MAX_INSTRUCTIONS_LENGTH } from '../limits.ts';
import { type Html, html } from '../pages/html.ts';
import { arrivalText, tone } from './sentences.ts';
import type { Stage } from './stages.ts';
import type { TrackingView } from './view.ts';

export type PageSettings = {
  readonly tileUrl: string | null;
  /** The map's attribution, as its licence asks; plain text. */
  readonly tileAttribution: string;
  readonly sandbox: boolean;
};
export type PageFiles = { readonly script: string; readonly style: string; readonly icon: string };

/** How often pages without JavaScript reload. */
const RELOAD_SECONDS = 30;
const RELOAD_NOTE = html`<noscript><p class="link">This page loads itself again every ${RELOAD_SECONDS} seconds. <a href="">Reload now</a></p></noscript>`;

/** The script shows it; without one it could not be sent, as the page's policy lets no form go anywhere. */
const NOTES = html`<section id="notes-card" class="card notes" aria-labelledby="notes-title" hidden>
    <form id="notes-form" autocomplete="off">
      <h2 id="notes-title">Notes for your driver</h2>
      <label for="notes-text">How to find you, a code for the door, where to leave it</label>
      <textarea id="notes-text" rows="3" maxlength="${MAX_INSTRUCTIONS_LENGTH}" dir="auto"></textarea>
      <label class="check"><input id="notes-door" type="checkbox"> Leave it at the door</label>
      <p class="notes-foot"><button id="notes-save">Save</button><span id="notes-state" role="status"></span></p>
    </form>
  </section>`;

/**
 * The tracking page with everything essential in its markup; the script keeps it current and adds the map.
 * The script reads `data-` attributes, so that the page holds no script of its own.
 */
export function trackingPage(view: TrackingView, token: string, settings: PageSettings, files: PageFiles): string {
  const main = html`
<main id="track" data-token="${token}" data-view="${JSON.stringify(view)}" data-tile-url="${settings.tileUrl ?? ''}"
  data-tile-attribution="${settings.tileAttribution}">
  <section class="now" data-tone="${tone(view.status)}">
    <div id="message" aria-live="polite" aria-atomic="true">
      <h1 id="headline">${view.headline}</h1>
      <p id="detail">${view.detail}</p>
    </div>
    <p id="arrival" class="arrival"${view.arrival ? null : html` hidden`}>${arrivalText(view.arrival)}</p>
    <p id="link" class="link" hidden></p>
    ${view.final ? null : RELOAD_NOTE}
  </section>
  <section id="map-card" class="card map-card" aria-label="Map" hidden>
    <div id="map"></div>
    <p class="map-foot"><span id="position-age"></span><button id="recentre" type="button" hidden>Show both</button></p>
  </section>
  <section class="card" aria-label="Steps of the delivery">
    <ol id="stages" class="stages">${view.stages.map(stageItem)}</ol>
  </section>
  ${NOTES}
  <figure id="photo" class="card photo"${view.photo_url === null ? html` hidden` : null}>
    ${view.photo_url === null ? null : html`<img src="${view.photo_url}" alt="Photo taken at the handover">`}
    <figcaption>Photo taken at the handover</figcaption>
  </figure>
</main>`;
  return page({
    title: `${view.headline} · ${view.store_name}`,
    header: html`Delivery from <strong><bdi id="store">${view.store_name}</bdi></strong>`,
    main,
    head: html`<script type="module" src="${files.script}"></script>
${view.final ? null : html`<noscript><meta http-equiv="refresh" content="${RELOAD_SECONDS}"></noscript>`}`,
    sandbox: settings.sandbox,
    files,
  });
}

/** A plain page with one message: an unknown link, an expired one, or a service out of order. */
export function messagePage(
  headline: string,
  detail: string,
  sandbox: boolean,
  files: PageFiles,
  reload = false,
): string {
  return page({
    title: headline,
    header: html`Delivery tracking`,
    main: html`
<main id="notice">
  <section class="now" data-tone="plain">
    <h1>${headline}</h1>
    <p>${detail}</p>
  </section>
</main>`,
    head: reload ? html`<meta http-equiv="refresh" content="${RELOAD_SECONDS}">` : html``,
    sandbox,
    files,
  });
}

function stageItem(stage: Stage): Html {
  const time = stage.at === null ? null : html`<time datetime="${stage.at}">${stage.at.slice(11, 16)} UTC</time>`;
  const step = stage.state === 'current' ? html` aria-current="step"` : null;
  return html`<li data-state="${stage.state}"${step}><span class="dot" aria-hidden="true"></span><span class="label">${stage.label}</span>${time}</li>`;
}

function page(parts: {
  readonly title: string;
  readonly header: Html;
  readonly main: Html;
  readonly head: Html;
  readonly sandbox: boolean;
  readonly files: PageFiles;
}): string {
  const badge = html`<span class="badge" title="A trial: no real delivery, charge or text">Sandbox</span>`;
  return html`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<meta name="robots" content="noindex, nofollow">
<title>${parts.title}</title>
<link rel="icon" href="${parts.files.icon}" type="image/svg+xml">
<link rel="stylesheet" href="${parts.files.style}">
${parts.head}
</head>
<body>
<header class="top"><p>${parts.header}</p>${parts.sandbox ? badge : null}</header>${parts.main}
</body>
</html>
`.text;
}
