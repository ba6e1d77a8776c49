import type { BrowserContext, Page } from 'playwright-core';
import { lookUntil } from './world.ts';

const SHOWN_MS = 10_000;

/** A page's findings: `ran` is set by scripts that must not run. */
const WATCHING = `
  globalThis.ran = () => noticed('one ran');
  document.addEventListener('securitypolicyviolation', ({ violatedDirective, blockedURI }) =>
    noticed('the policy had to stop ' + violatedDirective + ' ' + blockedURI));`;

/** Names of elements that only an injected text can have made. */
const STRANGE = `[...document.querySelectorAll('*')].flatMap(({ localName, attributes }) => {
  const isStrange = /^(iframe|object|base|style|video|details|math|animate|template)$/.test(localName);
  const code = [...attributes].filter(({ name, value }) => /^on/.test(name) || /^\\s*javascript:/i.test(value));
  return isStrange || code.length > 0 ? [localName] : [];
})`;

/**
 * Notices every script that runs, every request elsewhere, and everything the policy had to stop: escaping
 * alone must be enough.
 */
export async function watchPages(context: BrowserContext, own: string, problems: string[]): Promise<void> {
  await context.exposeBinding('noticed', (_source, what: string) => void problems.push(`script: ${what}`));
  await context.addInitScript({ content: WATCHING });
  context.on('request', (request) => {
    if (!request.url().startsWith(own) && !/^(data|blob):/.test(request.url())) {
      problems.push(`script: ${request.url()} was asked for`);
    }
  });
  context.on('dialog', (dialog) => {
    problems.push(`script: a dialog says ${dialog.message()}`);
    void dialog.dismiss();
  });
  context.on('weberror', (error) => problems.push(`script: a page threw ${error.error().message}`));
}

/** A sentence where an element does not show this text in time. */
export async function misses(page: Page, id: string, text: string): Promise<string[]> {
  const element = page.locator(`#${id}`);
  const shown = await lookUntil(
    () => element.textContent(),
    (seen) => withoutTimes(seen) === text,
    SHOWN_MS,
  );
  return withoutTimes(shown) === text ? [] : [`text: #${id} shows ${shown}, and not ${text}`];
}

/** A text without the times until which orders are promised, which no row knows. */
const withoutTimes = (text: string | null) => text?.replace(/ · by \d{1,2}:\d\d\s[AP]M/g, '');

/** What is in the page besides its own content. */
export async function strangeIn(page: Page): Promise<string[]> {
  const names = (await page.evaluate(STRANGE)) as string[];
  return names.map((name) => `markup: a ${name} came from a text`);
}

/** Checks that the detection works: a text that became markup in this page is noticed. */
export async function isWatched(page: Page, problems: readonly string[]): Promise<boolean> {
  await page.evaluate("document.body.insertAdjacentHTML('beforeend', '<img src=x onerror=ran()>')");
  return lookUntil(() => problems.length > 0, Boolean, SHOWN_MS);
}
