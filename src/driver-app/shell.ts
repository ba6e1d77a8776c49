import { RELEASE_REASONS, UNDELIVERABLE_REASONS } from '../domain/order.ts';
import { DRIVER_SILENT_MS } from '../limits.ts';
import { Html, html } from '../pages/html.ts';
import { RELOAD_SCRIPT } from '../pages/reload.ts';
import { DRIVER_EN, type DriverText } from '../words/driver-en.ts';
import { DRIVER_ES } from '../words/driver-es.ts';
import { speaker } from '../words/words.ts';

/** The markup's own language, which the script replaces by the phone's. */
const say = speaker<DriverText>(DRIVER_EN);
const VALUES = { minutes: DRIVER_SILENT_MS / 60_000 };

/** A text of the page, by the key under which the script finds it in another language. */
function word(key: DriverText): Html {
  return html`<span data-say="${key}">${say(key, VALUES)}</span>`;
}

export type DriverPageFiles = {
  readonly script: string;
  readonly style: string;
  readonly icon: string;
  /** For home screens that take no SVG. */
  readonly touchIcon: string;
};

/**
 * The driver's page without any driver's data: all of its screens and dialogs, most of them hidden. The
 * script fills it in.
 */
export function driverShell(files: DriverPageFiles, sandbox: boolean): string {
  const badge = html`<span class="badge" title="${say('sandboxHint')}" data-say-title="sandboxHint" data-say="sandbox">${say('sandbox')}</span>`;
  return html`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1, viewport-fit=cover">
<meta name="color-scheme" content="light dark">
<meta name="theme-color" content="#ffffff" media="(prefers-color-scheme: light)">
<meta name="theme-color" content="#0a0e13" media="(prefers-color-scheme: dark)">
<meta name="robots" content="noindex, nofollow">
<meta name="apple-mobile-web-app-title" content="Driver">
<title>${say('title')}</title>
<link rel="manifest" href="/driver/manifest.webmanifest">
<link rel="icon" href="${files.icon}" type="image/svg+xml">
<link rel="apple-touch-icon" href="${files.touchIcon}">
<script>${new Html(RELOAD_SCRIPT)}</script>
<link rel="stylesheet" href="${files.style}">
<script defer src="${files.script}"></script>
</head>
<body>
<header class="top"><p><strong>Sameday</strong></p>${sandbox ? badge : null}<p id="whose" class="whose" dir="auto" hidden></p><p id="link" class="link" hidden></p></header>
${NOTICES}
<main>
<noscript><p class="notice" data-tone="bad">${say('needsScript')} <span lang="es">${speaker(DRIVER_ES)('needsScript')}</span></p></noscript>
<p id="unloaded" class="notice" data-tone="bad" hidden>${word('unloaded')} <span lang="es">${speaker(DRIVER_ES)('unloaded')}</span></p>
${SIGN_IN}
${REPLACED}
${WORK}
</main>
<div id="bar" class="bar" hidden>${BAR}</div>
${RELEASE}
${UNDELIVERABLE}
${FAR}
${NO_PHOTO}
${LAST}
${SWITCH}
${LEAVE}
</body>
</html>
`.text;
}

const NOTICES = html`<p id="announce" class="unseen" role="status"></p>
<div class="notices">
<p id="insecure" class="notice" data-tone="bad" hidden>${word('insecure')}</p>
<p id="position-problem" class="notice" data-tone="bad" hidden></p>
<p id="clock-problem" class="notice" data-tone="wait" hidden></p>
<div id="refusal" class="notice" data-tone="bad" role="alert" hidden><p id="refusal-text" dir="auto"></p><div id="refusal-photos" hidden></div><button id="refusal-ok" type="button" class="quiet">${word('ok')}</button></div>
<p id="gained" class="notice" data-tone="good" dir="auto" hidden></p>
<p id="waiting" class="notice" data-tone="wait" hidden></p>
</div>`;

const SIGN_IN = html`<section id="sign-in" class="screen" aria-labelledby="sign-in-title" hidden>
<h1 id="sign-in-title">${word('signIn')}</h1>
<div id="left" class="notice" data-tone="wait" hidden><p id="left-behind"></p><div id="left-photos" hidden></div></div>
<p>${word('signInHint')}</p>
<form id="sign-in-form" class="stack" autocomplete="on">
<label for="token">${word('token')}</label>
<input id="token" name="token" type="password" autocomplete="current-password" autocapitalize="none" autocorrect="off" spellcheck="false" placeholder="sdd_…" required aria-describedby="sign-in-problem">
<p id="sign-in-problem" class="problem" role="alert"></p>
<button id="sign-in-button" class="primary">${word('signIn')}</button>
</form>
</section>`;

const REPLACED = html`<section id="replaced" class="screen" aria-labelledby="replaced-title" hidden>
<h1 id="replaced-title">${word('replacedTitle')}</h1>
<p>${word('replacedText')}</p>
<button id="use-here" type="button" class="primary">${word('useHere')}</button>
</section>`;

const WORK = html`<section id="work" class="work" hidden>
<div id="duty" class="duty" hidden><p><strong id="duty-state"></strong><small id="duty-detail"></small></p><button id="duty-off" type="button" class="quiet" hidden></button></div>
<section id="idle" class="idle" aria-labelledby="idle-headline" hidden>
<p id="finished" class="finished" hidden></p>
<p class="ring" aria-hidden="true"></p>
<h1 id="idle-headline" dir="auto"></h1>
<p id="idle-detail"></p>
<p id="wait-distance" class="name" hidden></p>
<div id="wait" class="ways" hidden><a id="wait-directions" class="way" target="_blank" rel="noopener noreferrer">${word('directions')}</a></div>
</section>
<article id="order" class="card" aria-labelledby="order-headline" hidden>
<p id="order-facts" class="facts"></p>
<p id="order-step" class="step"></p>
<h1 id="order-headline" dir="auto"></h1>
<p id="order-address" class="address"></p>
<div class="ways"><a id="directions" class="way" target="_blank" rel="noopener noreferrer">${word('directions')}</a><a id="call" class="way" rel="noreferrer" hidden>${word('call')}</a></div>
<button id="arrive" type="button" class="primary" hidden>${word('arrive')}</button>
<fieldset id="parcels" class="parcels" hidden><legend id="parcels-title"></legend><div id="parcels-list" hidden></div></fieldset>
<div id="order-notes" class="notes" hidden></div>
<p id="order-name" class="name" hidden></p>
</article>
<section class="route">
<p id="route-total" class="name" hidden></p>
<h2 id="route-title" hidden></h2>
<ol id="stops" class="stops" hidden></ol>
</section>
<p id="hint" class="hint" hidden>${word('lookIn')}</p>
<button id="not-there" type="button" class="quiet wide" hidden>${word('notThere')}</button>
<button id="give-up" type="button" class="quiet wide" hidden></button>
<p id="today" class="today" hidden></p>
<footer><button id="sign-out" type="button" class="plain">${word('signOut')}</button></footer>
</section>`;

const BAR = html`<p id="duty-for" class="field" hidden><label for="duty-hours">${word('dutyFor')}</label><select id="duty-hours"></select></p>
<div id="proof" class="proof" hidden>
<figure id="preview" class="preview" hidden><img id="preview-image" alt="${say('photoAlt')}" data-say-alt="photoAlt"></figure>
<div id="camera-field" class="camera"><input id="camera" type="file" accept="image/*" capture="environment"><label for="camera" id="camera-label">${word('photoTake')}</label></div>
<button id="no-camera" type="button" class="quiet wide">${word('noCamera')}</button>
</div>
<button id="primary" type="button" class="primary" hidden></button>`;

const LEAVE = html`<dialog id="leave" aria-labelledby="leave-title">
<form class="stack"><h2 id="leave-title">${word('leaveTitle')}</h2>
<p id="leave-owing">${word('leaveOwing')}</p>
<p id="leave-duty">${word('leaveDuty')}</p>
<p>${word('leaveToken')}</p>
<button id="leave-confirm" type="submit" class="primary danger">${word('signOut')}</button>
<button type="button" class="quiet wide" data-close>${word('stay')}</button></form>
</dialog>`;

/** A question whose text the script knows. */
function questionDialog(id: string, title: DriverText, confirm: DriverText, cancel: DriverText): Html {
  return html`<dialog id="${id}" aria-labelledby="${id}-title">
<form class="stack"><h2 id="${id}-title">${word(title)}</h2>
<p id="${id}-text" dir="auto"></p>
<button type="submit" class="primary">${word(confirm)}</button>
<button type="button" class="quiet wide" data-close>${word(cancel)}</button></form>
</dialog>`;
}

const FAR = questionDialog('far', 'farTitle', 'farConfirm', 'goBack');
const NO_PHOTO = questionDialog('no-photo', 'noPhotoTitle', 'noPhotoConfirm', 'goBack');
const LAST = questionDialog('last', 'lastTitle', 'lastConfirm', 'lastCancel');
const SWITCH = questionDialog('switch', 'switchTitle', 'switchConfirm', 'stay');

function reasonDialog(sheet: {
  readonly id: string;
  readonly title: DriverText;
  readonly note: DriverText;
  readonly confirm: DriverText;
  readonly cancel: DriverText;
  readonly reasons: readonly { readonly value: string; readonly text: DriverText }[];
  /** What stands above the reasons. */
  readonly first?: Html;
}): Html {
  const { id, title, note, confirm, cancel, reasons, first = null } = sheet;
  const choice = ({ value, text }: { readonly value: string; readonly text: DriverText }) =>
    html`<label class="choice"><input type="radio" name="reason" value="${value}" required>${word(text)}</label>`;
  return html`<dialog id="${id}" aria-labelledby="${id}-title">
<form class="stack"><h2 id="${id}-title">${word(title)}</h2>
<p>${word(note)}</p>
${first}<fieldset><legend>${word('reason')}</legend>${reasons.map(choice)}</fieldset>
<button type="submit" class="primary danger">${word(confirm)}</button>
<button type="button" class="quiet wide" data-close>${word(cancel)}</button></form>
</dialog>`;
}

const RELEASE = reasonDialog({
  id: 'release',
  title: 'releaseTitle',
  note: 'releaseNote',
  confirm: 'releaseConfirm',
  cancel: 'releaseCancel',
  reasons: RELEASE_REASONS.map((value) => ({ value, text: `release_${value}` as const })),
  first: html`<fieldset id="release-which" hidden><legend>${word('which')}</legend><div id="release-orders"></div></fieldset>
`,
});
const UNDELIVERABLE = reasonDialog({
  id: 'undeliverable',
  title: 'undeliverableTitle',
  note: 'undeliverableNote',
  confirm: 'undeliverable',
  cancel: 'goBack',
  reasons: UNDELIVERABLE_REASONS.map((value) => ({ value, text: `undeliverable_${value}` as const })),
});
