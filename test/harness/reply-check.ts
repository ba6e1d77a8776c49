import type { ApiCheck } from './api-document.ts';

type State = { readonly problems: Set<string>; checks: Promise<readonly ApiCheck[]> | null; isChecking: boolean };
type Shared = { apiCheckState?: State };

/** Of the process, since files that share one load this module each for themselves. */
const shared = globalThis as Shared;
shared.apiCheckState ??= { problems: new Set(), checks: null, isChecking: false };
/** What the check of replies has found; a program that is no test checks none. */
export const state = shared.apiCheckState;

const opened = (): Promise<readonly ApiCheck[]> => {
  state.checks ??= open();
  return state.checks;
};

async function open(): Promise<readonly ApiCheck[]> {
  const { ApiCheck, apiDocuments } = await import('./api-document.ts');
  const { stores, drivers } = await apiDocuments();
  return [new ApiCheck(stores), new ApiCheck(drivers)];
}

/** Notes what the documents do not say of a webhook. */
export async function checkWebhook(body: { readonly type: string }): Promise<void> {
  if (!state.isChecking) return;
  const problem = (await opened())[0]?.problemOfWebhook(body);
  if (problem) state.problems.add(problem);
}

/** Notes what the documents do not say of a reply. */
export async function checkReply(method: string, url: URL, response: Response): Promise<void> {
  const checks = await opened();
  if (!checks.some((each) => each.operationOf(method, url.pathname))) return;
  const contentType = response.headers.get('content-type') ?? '';
  const text = contentType.startsWith('application/json') ? await response.clone().text() : '';
  const seen = { method, path: url.pathname, status: response.status, contentType, text };
  for (const each of checks) {
    const problem = each.problemOf(seen);
    if (problem) state.problems.add(problem);
  }
}
