import { afterAll, afterEach } from 'vitest';
import type { ApiCheck } from './api-document.ts';

/**
 * Checks every reply of the service that a test fetches against `/openapi.json` and `/openapi-drivers.json`.
 * A status or a field that the document does not name fails the test, also where the test ignores the reply.
 */

type State = { readonly problems: Set<string>; checks: Promise<readonly ApiCheck[]> | null; isChecking: boolean };
type Shared = { apiCheckState?: State };

/** Of the process, since files that share one load this module each for themselves. */
const shared = globalThis as Shared;
shared.apiCheckState ??= { problems: new Set(), checks: null, isChecking: false };
const state = shared.apiCheckState;

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
  const problem = (await opened())[0]?.problemOfWebhook(body);
  if (problem) state.problems.add(problem);
}

async function check(method: string, url: URL, response: Response): Promise<void> {
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

if (!state.isChecking) {
  state.isChecking = true;
  const send = globalThis.fetch;
  globalThis.fetch = async (input, init) => {
    const response = await send(input, init);
    const url = new URL(input instanceof Request ? input.url : input);
    const method = (init?.method ?? (input instanceof Request ? input.method : 'GET')).toUpperCase();
    // Only the service has this header; a stand-in of a vendor has not.
    if (response.headers.has('x-request-id')) await check(method, url, response);
    return response;
  };
}

function failWhereNotDocumented(): void {
  const found = [...state.problems];
  state.problems.clear();
  if (found.length > 0) throw new Error(`Not as /openapi.json says:\n${found.join('\n')}`);
}

afterEach(failWhereNotDocumented);
afterAll(failWhereNotDocumented);
