import {
  RELEASE_REASONS,
  type ReleaseReason,
  UNDELIVERABLE_REASONS,
  type UndeliverableReason,
} from '../domain/order.ts';
import { DRIVER_SILENT_MS } from '../limits.ts';
import { type Html, html } from '../pages/html.ts';

const RELEASE_WORDS: Record<ReleaseReason, string> = {
  vehicle: 'My vehicle has a problem',
  emergency: 'An emergency',
  too_far: 'It is too far',
  pickup_not_ready: 'The store does not have it ready',
  other: 'Something else',
};
const UNDELIVERABLE_WORDS: Record<UndeliverableReason, string> = {
  nobody_home: 'Nobody is there',
  refused: 'They did not want it',
  wrong_address: 'The address is wrong',
  unsafe: 'It is not safe there',
  damaged: 'The parcel is damaged',
  other: 'Something else',
};

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
  const badge = html`<span class="badge" title="A trial: no real delivery, charge or text">Sandbox</span>`;
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
<title>Driver · Sameday</title>
<link rel="manifest" href="/driver/manifest.webmanifest">
<link rel="icon" href="${files.icon}" type="image/svg+xml">
<link rel="apple-touch-icon" href="${files.touchIcon}">
<link rel="stylesheet" href="${files.style}">
<script defer src="${files.script}"></script>
</head>
<body>
<header class="top"><p><strong>Sameday</strong></p>${sandbox ? badge : null}<p id="link" class="link" hidden></p></header>
${NOTICES}
<main>
<noscript><p class="notice" data-tone="bad">This page needs JavaScript. Please switch it on for this site.</p></noscript>
${SIGN_IN}
${REPLACED}
${WORK}
</main>
<div id="bar" class="bar" hidden>${BAR}</div>
${RELEASE}
${UNDELIVERABLE}
${LEAVE}
</body>
</html>
`.text;
}

const NOTICES = html`<p id="announce" class="unseen" role="status"></p>
<div class="notices">
<p id="insecure" class="notice" data-tone="bad" hidden>This page is not on https. It may not see where you are, so no orders can reach you, and it does not open without network. Ask for the address that starts with https.</p>
<p id="position-problem" class="notice" data-tone="bad" hidden></p>
<div id="refusal" class="notice" data-tone="bad" role="alert" hidden><p id="refusal-text"></p><button id="refusal-ok" type="button" class="quiet">OK</button></div>
<p id="waiting" class="notice" data-tone="wait" hidden></p>
</div>`;

const SIGN_IN = html`<section id="sign-in" class="screen" aria-labelledby="sign-in-title" hidden>
<h1 id="sign-in-title">Sign in</h1>
<p>Enter the driver token that you were given.</p>
<form id="sign-in-form" class="stack" autocomplete="on">
<label for="token">Driver token</label>
<input id="token" name="token" type="password" autocomplete="current-password" autocapitalize="none" autocorrect="off" spellcheck="false" placeholder="sdd_…" required aria-describedby="sign-in-problem">
<p id="sign-in-problem" class="problem" role="alert"></p>
<button id="sign-in-button" class="primary">Sign in</button>
</form>
</section>`;

const REPLACED = html`<section id="replaced" class="screen" aria-labelledby="replaced-title" hidden>
<h1 id="replaced-title">Signed in elsewhere</h1>
<p>Another phone or window is signed in with your token. Orders go there now, and not to this one any more.</p>
<button id="use-here" type="button" class="primary">Use this one</button>
</section>`;

const WORK = html`<section id="work" class="work" hidden>
<div id="duty" class="duty" hidden><p><strong id="duty-state"></strong><span id="duty-detail"></span></p><button id="duty-off" type="button" class="quiet" hidden>Go off duty</button></div>
<section id="idle" class="idle" aria-labelledby="idle-headline" hidden>
<p id="finished" class="finished" hidden></p>
<p class="ring" aria-hidden="true"></p>
<h1 id="idle-headline"></h1>
<p id="idle-detail"></p>
</section>
<article id="order" class="card" aria-labelledby="order-headline" hidden>
<p id="order-step" class="step"></p>
<h1 id="order-headline"></h1>
<p id="order-address" class="address"></p>
<div class="ways"><a id="directions" class="way" target="_blank" rel="noopener noreferrer">Directions</a><a id="call" class="way" rel="noreferrer" hidden>Call</a></div>
<div id="order-notes" class="notes" hidden></div>
<div id="next" class="next" hidden><h2>Then deliver to</h2><p id="next-text"></p></div>
<p id="order-facts" class="facts"></p>
</article>
<p id="hint" class="hint" hidden>Navigating in another app? Look in here every few minutes: a phone that is silent for ${DRIVER_SILENT_MS / 60_000} minutes loses the order.</p>
<button id="give-up" type="button" class="quiet wide" hidden></button>
<footer><button id="sign-out" type="button" class="plain">Sign out</button></footer>
</section>`;

const BAR = html`<div id="proof" class="proof" hidden>
<figure id="preview" class="preview" hidden><img id="preview-image" alt="Your photo of the handover"></figure>
<div id="camera-field" class="camera"><input id="camera" type="file" accept="image/*" capture="environment"><label for="camera" id="camera-label">Take a photo</label></div>
</div>
<button id="primary" type="button" class="primary" hidden></button>`;

const LEAVE = html`<dialog id="leave" aria-labelledby="leave-title">
<form class="stack"><h2 id="leave-title">Sign out now?</h2>
<p id="leave-owing">What you did is not sent yet. If you sign out now it is lost.</p>
<p>To sign in again you need your driver token.</p>
<button id="leave-confirm" type="submit" class="primary danger">Sign out</button>
<button type="button" class="quiet wide" data-close>Stay signed in</button></form>
</dialog>`;

type Choice = { readonly reason: string; readonly text: string };

function words<Reason extends string>(reasons: readonly Reason[], texts: Record<Reason, string>): Choice[] {
  return reasons.map((reason) => ({ reason, text: texts[reason] }));
}

function reasonDialog(sheet: {
  readonly id: string;
  readonly title: string;
  readonly note: string;
  readonly confirm: string;
  readonly cancel: string;
  readonly choices: readonly Choice[];
}): Html {
  const { id, title, note, confirm, cancel, choices } = sheet;
  const choice = ({ reason, text }: Choice) =>
    html`<label class="choice"><input type="radio" name="reason" value="${reason}" required><span>${text}</span></label>`;
  return html`<dialog id="${id}" aria-labelledby="${id}-title">
<form class="stack"><h2 id="${id}-title">${title}</h2>
<p>${note}</p>
<fieldset><legend class="unseen">Reason</legend>${choices.map(choice)}</fieldset>
<button type="submit" class="primary danger">${confirm}</button>
<button type="button" class="quiet wide" data-close>${cancel}</button></form>
</dialog>`;
}

const RELEASE = reasonDialog({
  id: 'release',
  title: 'Give this order back?',
  note: 'Another driver gets it at once. You will not be offered it again.',
  confirm: 'Give it back',
  cancel: 'Keep the order',
  choices: words(RELEASE_REASONS, RELEASE_WORDS),
});
const UNDELIVERABLE = reasonDialog({
  id: 'undeliverable',
  title: 'What happened?',
  note: 'Then bring the parcel back to the store.',
  confirm: 'Could not deliver',
  cancel: 'Go back',
  choices: words(UNDELIVERABLE_REASONS, UNDELIVERABLE_WORDS),
});
