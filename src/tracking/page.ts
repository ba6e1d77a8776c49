import { MAX_INSTRUCTIONS_LENGTH } from '../limits.ts';
import { Html, html } from '../pages/html.ts';
import { RELOAD_SCRIPT } from '../pages/reload.ts';
import { type SpeakTracking, speakTracking } from '../words/tracking.ts';
import type { Language } from '../words/words.ts';
import { arrivalText, detail, headline, stageLabel, stageState, stopsText, tone } from './sentences.ts';
import type { Stage, TrackingView } from './tracking-view.ts';

export type PageSettings = {
  readonly tileUrl: string | null;
  /** The map's attribution, as its licence asks; plain text. */
  readonly tileAttribution: string;
  readonly sandbox: boolean;
};
export type PageFiles = { readonly script: string; readonly style: string; readonly icon: string };

/** How often pages without JavaScript reload. */
const RELOAD_SECONDS = 30;

function reloadNote(say: SpeakTracking): Html {
  const note = say('reload_note', { seconds: RELOAD_SECONDS });
  return html`<noscript><p class="link">${note} <a href="">${say('reload')}</a></p></noscript>`;
}

/** The script shows it; without one it could not be sent, as the page's policy lets no form go anywhere. */
function notesForm(say: SpeakTracking): Html {
  return html`<section id="notes-card" class="card notes" aria-labelledby="notes-title" hidden>
    <form id="notes-form" autocomplete="off">
      <h2 id="notes-title">${say('notes')}</h2>
      <label for="notes-text">${say('notes_label')}</label>
      <textarea id="notes-text" rows="3" maxlength="${MAX_INSTRUCTIONS_LENGTH}" dir="auto"></textarea>
      <label class="check"><input id="notes-door" type="checkbox"> ${say('notes_door')}</label>
      <p class="notes-foot"><button id="notes-save">${say('notes_save')}</button><span id="notes-state" role="status"></span></p>
    </form>
  </section>`;
}

/**
 * The tracking page with everything essential in its markup; the script keeps it current and adds the map.
 * The script reads `data-` attributes, so that the page holds no script of its own but RELOAD_SCRIPT.
 */
export function trackingPage(
  view: TrackingView,
  token: string,
  language: Language,
  settings: PageSettings,
  files: PageFiles,
): string {
  const say = speakTracking[language];
  const stops = stopsText(view, say);
  const due = view.deliver_by === null ? '' : say('due_by', { time: utcClock(view.deliver_by) });
  const arrival = arrivalText(view.arrival, say) || due;
  const main = html`
<main id="track" data-token="${token}" data-view="${JSON.stringify(view)}" data-tile-url="${settings.tileUrl ?? ''}"
  data-tile-attribution="${settings.tileAttribution}">
  <section class="now" data-tone="${tone(view.status)}">
    <div id="message" aria-live="polite" aria-atomic="true">
      <h1 id="headline">${headline(view, say)}</h1>
      <p id="stops" class="arrival"${stops ? null : html` hidden`}>${stops}</p>
      <p id="arrival" class="arrival" aria-live="off"${arrival ? null : html` hidden`}>${arrival}</p>
      <p id="detail">${detail(view, say)}</p>
    </div>
    <p id="link" class="link" hidden></p>
    <p id="unloaded" class="link" hidden>${say('unloaded')} <a href="">${say('reload')}</a></p>
    ${view.final ? null : reloadNote(say)}
  </section>
  <section id="map-card" class="card map-card" aria-label="${say('map')}" hidden>
    <div id="map"></div>
    <div id="map-foot" class="map-foot"><span id="position-age"></span><button id="recentre" type="button" hidden>${say('show_both')}</button></div>
  </section>
  <section class="card" aria-label="${say('steps')}">
    <ol id="stages" class="stages">${view.stages.map((stage) => stageItem(stage, view, say))}</ol>
  </section>
  ${notesForm(say)}
  <figure id="photo" class="card photo"${view.photo_url === null ? html` hidden` : null}>
    ${view.photo_url === null ? null : html`<img src="${view.photo_url}" alt="${say('photo')}">`}
    <figcaption>${say('photo')}</figcaption>
  </figure>
</main>`;
  return page({
    language,
    title: `${headline(view, say)} · ${view.store_name}`,
    header: html`${say('delivery_from')} <strong><bdi id="store">${view.store_name}</bdi></strong>`,
    main,
    head: html`<script>${new Html(RELOAD_SCRIPT)}</script><script type="module" src="${files.script}"></script>
${view.final ? null : html`<noscript><meta http-equiv="refresh" content="${RELOAD_SECONDS}"></noscript>`}`,
    sandbox: settings.sandbox,
    files,
  });
}

/** A page without an order: an unknown link, an expired one, or a service out of order. */
export type Notice = 'unknown_link' | 'expired_link' | 'away';

/** A plain page with one message. While the service is out of order it loads itself again. */
export function noticePage(notice: Notice, language: Language, sandbox: boolean, files: PageFiles): string {
  const say = speakTracking[language];
  return page({
    language,
    title: say(notice),
    header: html`${say('tracking')}`,
    main: html`
<main id="notice">
  <section class="now" data-tone="plain">
    <h1>${say(notice)}</h1>
    <p>${say(`${notice}_detail`)}</p>
  </section>
</main>`,
    head: notice === 'away' ? html`<meta http-equiv="refresh" content="${RELOAD_SECONDS}">` : html``,
    sandbox,
    files,
  });
}

/** A time until the script writes it in the reader's zone. */
const utcClock = (iso: string): string => `${iso.slice(11, 16)} UTC`;

function stageItem(stage: Stage, { status }: TrackingView, say: SpeakTracking): Html {
  const time = stage.at === null ? null : html`<time datetime="${stage.at}">${utcClock(stage.at)}</time>`;
  const step = stage.state === 'current' ? html` aria-current="step"` : null;
  return html`<li data-state="${stage.state}"${step}><span class="dot" aria-hidden="true"></span><span class="label">${stageLabel(stage, status, say)}<span class="unseen">, ${stageState(stage, say)} </span></span>${time}</li>`;
}

function page(parts: {
  readonly language: Language;
  readonly title: string;
  readonly header: Html;
  readonly main: Html;
  readonly head: Html;
  readonly sandbox: boolean;
  readonly files: PageFiles;
}): string {
  const say = speakTracking[parts.language];
  const badge = html`<span class="badge" title="${say('sandbox_means')}">${say('sandbox')}</span>`;
  return html`<!doctype html>
<html lang="${parts.language}">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<meta name="robots" content="noindex, nofollow">
<title>${parts.title}</title>
<link rel="icon" href="${parts.files.icon}" type="image/svg+xml">
${parts.head}
<link rel="stylesheet" href="${parts.files.style}">
</head>
<body>
<header class="top"><p>${parts.header}</p>${parts.sandbox ? badge : null}</header>${parts.main}
</body>
</html>
`.text;
}
