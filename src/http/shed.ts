import type { HttpResponse } from 'uWebSockets.js';
import { canKeepConnection, type ExchangeSettings } from './exchange.ts';
import { errorReply } from './reply.ts';
import type { ReadHead } from './request.ts';
import { Responder } from './responder.ts';
import type { Route } from './route.ts';

/**
 * Answers a request that its route refuses by the head alone, right in the transport's callback; its body is dropped as it
 * comes. False where it is to be served: what needs more care than that is never refused here.
 */
export function shed(settings: ExchangeSettings, route: Route, response: HttpResponse, read: ReadHead): boolean {
  if (!route.shed || !canKeepConnection(read, 0, settings.limits)) return false;
  const startedMs = performance.now();
  const refusal = route.shed(read.head);
  if (!refusal) return false;
  const reply = errorReply(refusal, read.head.requestId, settings.supportEmail);
  new Responder(response, settings, read.head, () => {}).send(reply);
  settings.observe(route.pattern, route.method.toUpperCase(), reply.status, performance.now() - startedMs);
  return true;
}
