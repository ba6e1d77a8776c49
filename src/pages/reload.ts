import { createHash } from 'node:crypto';

/** Time after which what did not load is asked for again. */
const RELOAD_MS = 15_000;

/**
 * The one script that stands in a page itself, as it has to run where no file loads: over a bad network, or where
 * another build, which has other files, serves the page's files. Without its script it marks the page, by which a
 * sentence shows, and loads it again. A style sheet is asked for alone, as the page works without it and may hold what
 * somebody types. It stands before all of them, as it hears of no failure that came first. What a browser's extension
 * adds to a page does not count.
 */
export const RELOAD_SCRIPT =
  'addEventListener("error",function(e){var t=e.target;if(!(t.src||t.href||"").startsWith(location.origin))return;' +
  `if(t.rel==="stylesheet")setTimeout(function(){t.replaceWith(t.cloneNode())},${RELOAD_MS});` +
  'else if(t.tagName==="SCRIPT"){document.documentElement.dataset.script="failed";' +
  `setTimeout(function(){location.reload()},${RELOAD_MS})}},true)`;

/** How a page's policy lets {@link RELOAD_SCRIPT} run, and no other text. */
export const RELOAD_SOURCE = `'sha256-${createHash('sha256').update(RELOAD_SCRIPT).digest('base64')}'`;
