import { createHash } from 'node:crypto';

/** Time after which a page whose script or style sheet did not load is loaded again. */
const RELOAD_MS = 15_000;

/**
 * The one script that stands in a page itself, as it has to run where no file loads: over a bad network, or where
 * another build, which has other files, serves the page's files. It marks the page, by which a sentence shows, and
 * loads it again, once. It stands before all of them, as it hears of no failure that came first. What a browser's
 * extension adds to a page does not count.
 */
export const RELOAD_SCRIPT =
  'addEventListener("error",function(e){var t=e.target,d=document.documentElement.dataset;' +
  'if(d.script||t.tagName!=="SCRIPT"&&t.rel!=="stylesheet"||!(t.src||t.href).startsWith(location.origin))return;' +
  `d.script="failed";setTimeout(function(){location.reload()},${RELOAD_MS})},true)`;

/** How a page's policy lets {@link RELOAD_SCRIPT} run, and no other text. */
export const RELOAD_SOURCE = `'sha256-${createHash('sha256').update(RELOAD_SCRIPT).digest('base64')}'`;
