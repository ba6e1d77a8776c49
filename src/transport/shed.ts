import type { HttpResponse } from 'uWebSockets.js';
import type { ServiceError } from '../domain/errors.ts';
import type { ExchangeSettings } from './exchange.ts';
import { errorReply } from './reply.ts';
import { canKeepConnection, type ReadHead } from './request.ts';
import { Responder } from './responder.ts';
import type { Reply, Route } from './route.ts';

/** Replies to refuse many requests with; making one costs a fifth of a refusal. */
const replies = new WeakMap<ServiceError, Reply>();
const ID = '{request_id}';

/**
 * Refuses a request by its head alone where its route says so, at once in the callback of uWebSockets.js; its
 * body is dropped as it arrives. False where the request is to be served, as it always is where its
 * connection must end with it.
 */
export function shed(settings: ExchangeSettings, route: Route, response: HttpResponse, read: ReadHead): boolean {
  if (!route.shed || !canKeepConnection(read, 0, settings.limits.maxDiscardedBodyBytes)) return false;
  const startedMs = performance.now();
  const refusal = route.shed(read.head);
  if (!refusal) return false;
  const { requestId } = read.head;
  const reply = replyOf(refusal, settings.supportEmail);
  const body = String(reply.body).replace(ID, requestId);
  new Responder(response, settings, read.head, () => {}).send({ ...reply, body });
  const method = route.method.toUpperCase();
  const durationMs = performance.now() - startedMs;
  settings.observe(route.pattern, method, reply.status, durationMs);
  settings.noteRequest({ requestId, method, route: route.pattern, status: reply.status, durationMs });
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
