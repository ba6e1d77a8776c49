import type { HttpResponse } from 'uWebSockets.js';
import type { ServiceError } from '../domain/errors.ts';
import { canKeepConnection, type ExchangeSettings } from './exchange.ts';
import { errorReply } from './reply.ts';
import type { ReadHead } from './request.ts';
import { Responder } from './responder.ts';
import type { Reply, Route } from './route.ts';

/** Replies of errors that many requests are refused with: making one anew costs a fifth of a refusal. */
const replies = new WeakMap<ServiceError, Reply>();
const ID = '{request_id}';

/**
 * Answers a request that its route refuses by the head alone, right in the transport's callback; its body is dropped as it
 * comes. False where it is to be served: what needs more care than that is never refused here.
 */
export function shed(settings: ExchangeSettings, route: Route, response: HttpResponse, read: ReadHead): boolean {
  if (!route.shed || !canKeepConnection(read, 0, settings.limits)) return false;
  const startedMs = performance.now();
  const refusal = route.shed(read.head);
  if (!refusal) return false;
  const { requestId } = read.head;
  const reply = replyOf(refusal, settings.supportEmail);
  const body = String(reply.body).replace(ID, requestId);
  new Responder(response, settings, read.head, () => {}).send({ ...reply, body });
  settings.observe(route.pattern, route.method.toUpperCase(), reply.status, performance.now() - startedMs);
  return true;
}

function replyOf(refusal: ServiceError, supportEmail: string): Reply {
  let reply = replies.get(refusal);
  if (!reply) {
    reply = errorReply(refusal, ID, supportEmail);
    replies.set(refusal, reply);
  }
  return reply;
}
