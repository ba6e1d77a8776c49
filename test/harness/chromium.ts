import { mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type BrowserContext, type BrowserContextOptions, chromium } from 'playwright-core';
import { removeFolder } from './folders.ts';
import { POLL_MS, STEP_MS } from './patience.ts';
import { findProgram } from './programs.ts';

const WHOLE = ['chromium', 'chromium-browser', 'google-chrome', 'google-chrome-stable'];
/** The same engine without a window and its processes, for about half of the work. */
const SHELL = 'chromium-headless-shell';

/** The path of a browser, the shell where there is one; undefined if there is none on the PATH. */
export function findChromium(): string | undefined {
  return findProgram([SHELL, ...WHOLE]);
}

/** The path of a browser that shows notifications, which the shell does not; undefined if there is none. */
export function findWholeChromium(): string | undefined {
  return findProgram(WHOLE);
}

/** What a window of a desktop brings along, each in a process of its own, and no page here needs. */
const OWN_WINDOW = [
  'WebUIOmniboxPopup',
  'WebUIOmniboxAimPopup',
  'WebUIOmniboxFullPopup',
  'PreloadTopChromeWebUI',
  'SpareRendererForSitePerProcess',
];
/** Those that Playwright switches off and that change what a page does or asks of the network: the last switch wins. */
const PLAYWRIGHTS = [
  'AvoidUnnecessaryBeforeUnloadCheckSync',
  'DestroyProfileOnBrowserClose',
  'HttpsUpgrades',
  'HttpsFirstBalancedModeAutoEnable',
  'MediaRouter',
  'PaintHolding',
  'ThirdPartyStoragePartitioning',
  'AvoidCorsURLLoaderRestartOnRedirect',
  'OptimizationHints',
  'NetworkTimeServiceQuerying',
  'AimEnabled',
  'PreconnectToSearch',
];
const FLAGS = [
  `--disable-features=${[...PLAYWRIGHTS, ...OWN_WINDOW].join()}`,
  // A page that draws for ever costs a test more than what it does.
  '--force-prefers-reduced-motion',
  '--no-sandbox',
  '--disable-gpu',
  '--disable-quic',
  '--disable-audio-output',
  '--no-first-run',
  '--disable-background-networking',
  '--disable-component-update',
  '--disable-sync',
  // A container's /dev/shm is often 64 MB, which is too small for a page.
  '--disable-dev-shm-usage',
];

export type Browser = {
  readonly context: BrowserContext;
  /** Opens a context with a storage of its own. */
  newContext(options?: BrowserContextOptions): Promise<BrowserContext>;
  close(): Promise<void>;
};

/**
 * Starts a headless browser with an empty profile, by default in a phone's size. `flags` are added to the
 * usual ones.
 */
export async function launchBrowser(
  viewport: { width: number; height: number } = { width: 390, height: 844 },
  flags: readonly string[] = [],
  executablePath: string | undefined = findChromium(),
): Promise<Browser> {
  if (executablePath === undefined) throw new Error('No Chromium on the PATH: guard the test with findChromium().');
  const profile = mkdtempSync(join(tmpdir(), 'sameday-chromium-'));
  const context = await chromium.launchPersistentContext(profile, {
    executablePath,
    args: [...FLAGS, ...flags],
    headless: true,
    viewport,
    timeout: STEP_MS,
  });
  const patient = (opened: BrowserContext): BrowserContext => {
    opened.setDefaultTimeout(POLL_MS);
    return opened;
  };
  return {
    context: patient(context),
    async newContext(options) {
      const browser = context.browser();
      if (!browser) throw new Error('the browser is gone');
      return patient(await browser.newContext(options));
    },
    async close() {
      await context.close();
      removeFolder(profile);
    },
  };
}
