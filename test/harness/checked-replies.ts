import { afterAll, afterEach } from 'vitest';
import { checkReply, state } from './reply-check.ts';

/**
 * Checks every reply of the service that a test fetches against `/openapi.json` and `/openapi-drivers.json`.
 * A status or a field that the document does not name fails the test, also where the test ignores the reply.
 *
 * Each request has a connection of its own, unless it names another wish. One that was idle for longer than the
 * server keeps it, as where the machine is busy, would break under the next request.
 */

if (!state.isChecking) {
  state.isChecking = true;
  const send = globalThis.fetch;
  globalThis.fetch = async (input, init) => {
    const headers = new Headers(init?.headers ?? (input instanceof Request ? input.headers : {}));
    if (!headers.has('connection')) headers.set('connection', 'close');
    const response = await send(input, { ...init, headers });
    const url = new URL(input instanceof Request ? input.url : input);
    const method = (init?.method ?? (input instanceof Request ? input.method : 'GET')).toUpperCase();
    // Only the service has this header; a stand-in of a vendor has not.
    if (response.headers.has('x-request-id')) await checkReply(method, url, response);
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
