import type { ActionOutcome, DriverActions } from '../../dispatch/driver-actions.ts';
import type { PositionReport, ReportOutcome } from '../../dispatch/positions.ts';
import { ServiceError } from '../../domain/errors.ts';
import { isId } from '../../domain/ids.ts';
import { MAX_JSON_BYTES, MAX_PHOTO_BYTES, PHOTO_DEADLINE_MS } from '../../limits.ts';
import type { DriverOrder } from '../../store/drivers.ts';
import { asAvailable, unauthorized } from '../credentials.ts';
import { validateDriverDuty, validateDriverLocation } from '../driver-input.ts';
import { type JsonObject, parseJsonObject } from '../json.ts';
import { json } from '../reply.ts';
import type { Reply, RequestHead, Route } from '../route.ts';

type Driver = { readonly driverId: string };
type State = { readonly onDuty: boolean; readonly order: DriverOrder | null };

export type StoredPhoto =
  | { readonly kind: 'stored'; readonly name: string }
  | { readonly kind: 'unusable'; readonly reason: string }
  | { readonly kind: 'busy' };

/** What a driver's phone asks over HTTP. */
export function driverRoutes(deps: {
  readonly authenticate: (head: RequestHead) => Promise<Driver>;
  readonly actions: DriverActions;
  readonly report: (driverId: string, report: PositionReport) => ReportOutcome;
  readonly findState: (driverId: string) => Promise<State | null>;
  readonly storePhoto: (bytes: Buffer) => Promise<StoredPhoto>;
  /** Removes a photo whose delivery was refused after all. */
  readonly discardPhoto: (name: string) => Promise<void>;
  readonly toWire: (state: State) => unknown;
}): Route<Driver>[] {
  const { authenticate, actions } = deps;
  const jsonBody = { contentTypes: ['application/json'], maxBytes: MAX_JSON_BYTES };

  const duty: Route<Driver> = {
    method: 'put',
    pattern: '/driver/duty',
    authenticate,
    body: jsonBody,
    async handle({ principal, body }) {
      const { onDuty } = valid(validateDriverDuty(parsed(body)));
      const result = await asAvailable(actions.setDuty(principal.driverId, onDuty));
      if (!result) throw unauthorized('driver token');
      return json(200, { success: true, on_duty: result.onDuty });
    },
  };

  const location: Route<Driver> = {
    method: 'post',
    pattern: '/driver/location',
    authenticate,
    body: jsonBody,
    handle({ principal, body }) {
      const outcome = deps.report(principal.driverId, valid(validateDriverLocation(parsed(body))));
      if (outcome === 'unknown_driver') throw new ServiceError('unavailable', 'This driver is not known here yet.');
      return json(200, { success: true, taken: outcome === 'taken' });
    },
  };

  const orders: Route<Driver> = {
    method: 'get',
    pattern: '/driver/orders',
    authenticate,
    async handle({ principal }) {
      const state = await asAvailable(deps.findState(principal.driverId));
      if (!state) throw unauthorized('driver token');
      return json(200, { success: true, ...(deps.toWire(state) as object) });
    },
  };

  const pickUp: Route<Driver> = {
    method: 'post',
    pattern: '/driver/orders/:id/pick-up',
    authenticate,
    async handle({ head, principal }) {
      return acted(await asAvailable(actions.pickUp(principal.driverId, orderIdOf(head))));
    },
  };

  const deliver: Route<Driver> = {
    method: 'post',
    pattern: '/driver/orders/:id/deliver',
    authenticate,
    body: {
      contentTypes: ['image/jpeg', 'image/png', 'image/webp'],
      maxBytes: MAX_PHOTO_BYTES,
      deadlineMs: PHOTO_DEADLINE_MS,
    },
    async handle({ head, principal: { driverId }, body }) {
      const orderId = orderIdOf(head);
      const may = await asAvailable(actions.mayDeliver(driverId, orderId));
      if (may.kind !== 'done') return acted(may);
      const photo = await deps.storePhoto(body).catch(photoStoreDown);
      if (photo.kind === 'busy')
        throw new ServiceError('unavailable', 'Too many photos at once; keep it and try again.');
      if (photo.kind === 'unusable') {
        throw new ServiceError('unusable_photo', `The photo cannot be used (${photo.reason}); nothing was changed.`);
      }
      const outcome = await asAvailable(actions.deliver(driverId, orderId, photo.name));
      if (outcome.kind !== 'done') await deps.discardPhoto(photo.name);
      return acted(outcome);
    },
  };

  return [duty, location, orders, pickUp, deliver];
}

function photoStoreDown(cause: unknown): never {
  throw new ServiceError('unavailable', 'The photo could not be stored; keep it and try again.', { cause });
}

function parsed(body: Buffer): JsonObject {
  const result = parseJsonObject(body);
  if ('error' in result) throw result.error;
  return result.ok;
}

function valid<Value>(result: { readonly ok: Value } | { readonly fields: ServiceError['fields'] }): Value {
  if ('ok' in result) return result.ok;
  throw new ServiceError('invalid_request', 'Some fields are not usable; nothing was changed.', {
    fields: result.fields,
  });
}

function orderIdOf(head: RequestHead): string {
  const [id = ''] = head.params;
  if (!isId(id)) throw new ServiceError('not_found', 'There is no such order.');
  return id;
}

function acted(outcome: ActionOutcome): Reply {
  switch (outcome.kind) {
    case 'done':
      return json(200, { success: true, order: { status: outcome.status, sequence: outcome.sequence } });
    case 'not_found':
      throw new ServiceError('not_found', 'There is no such order.');
    case 'illegal':
      throw new ServiceError('illegal_transition', `The order is ${outcome.status}; nothing was changed.`);
  }
}
