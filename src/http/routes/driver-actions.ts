import type { ActionOutcome, DriverAction, DriverActions } from '../../dispatch/driver-actions.ts';
import { ServiceError } from '../../domain/errors.ts';
import type { ReleaseReason, UndeliverableReason } from '../../domain/order.ts';
import { MAX_JSON_BYTES, MAX_PHOTO_BYTES, MAX_PHOTO_PIXELS, MAX_PHOTO_SIDE, PHOTO_DEADLINE_MS } from '../../limits.ts';
import { json } from '../../transport/reply.ts';
import type { Reply, RequestHead, Route, RouteRequest } from '../../transport/route.ts';
import type { UnusablePhoto } from '../../vendors/photos.ts';
import { validateAction } from '../action-input.ts';
import { orderIdOf, parsed, unknownNames, valid } from '../input.ts';
import { asAvailable, asWritten } from '../outcomes.ts';
import { driverActionSchema } from '../schemas.ts';
import type { Validator } from '../validators.d.ts';
import { driverAction, release, undeliverable } from '../validators.js';
import type { Driver } from './driver.ts';

/** Behind "The photo cannot be used:". */
const UNUSABLE: Record<UnusablePhoto, string> = {
  too_many_bytes: `it is larger than ${MAX_PHOTO_BYTES} bytes`,
  wrong_format: 'it is not a JPEG, PNG or WebP',
  too_many_pixels: `it has more than ${MAX_PHOTO_PIXELS} pixels, or a side of more than ${MAX_PHOTO_SIDE}`,
  damaged: 'it is damaged or cut short',
  too_slow: 'it takes too long to decode',
};
const SEND_AGAIN = 'Send the same action again with the same action_id, or ask for your order.';

export type StoredPhoto =
  | { readonly kind: 'stored'; readonly name: string }
  | { readonly kind: 'unusable'; readonly reason: UnusablePhoto }
  | { readonly kind: 'busy' };

/** What a driver does with his order: `POST /driver/orders/{id}/pick-up`, `deliver`, `release`, `undeliverable`, `return`. */
export function driverActionRoutes(deps: {
  readonly authenticate: (head: RequestHead) => Promise<Driver>;
  readonly actions: DriverActions;
  readonly storePhoto: (bytes: Buffer, wanted: () => boolean) => Promise<StoredPhoto>;
  /** Removes a photo whose delivery was refused after all. */
  readonly discardPhoto: (name: string) => Promise<void>;
}): Route<Driver>[] {
  const { authenticate, actions } = deps;

  /** An action whose body is JSON: the stamp, and a reason where the schema asks for one. */
  function action<Reason extends string>(
    name: string,
    fits: Validator,
    run: (action: DriverAction, reason: Reason) => Promise<ActionOutcome>,
  ): Route<Driver> {
    return {
      method: 'post',
      pattern: `/driver/orders/:id/${name}`,
      authenticate,
      onDeadline: 'outcome_unknown',
      body: { contentTypes: ['application/json'], maxBytes: MAX_JSON_BYTES, optional: true },
      async handle({ head, principal: { driverId }, body }) {
        const { stamp, reason } = valid(validateAction<Reason>(fits, parsed(body, true)));
        return acted(await asWritten(run({ driverId, orderId: orderIdOf(head), stamp }, reason), SEND_AGAIN));
      },
    };
  }

  /** The body is the photo, so the stamp stands in the query. */
  async function deliver({ head, principal: { driverId }, body, signal }: RouteRequest<Driver>): Promise<Reply> {
    const unknown = unknownNames(head.query, driverActionSchema.properties);
    if (unknown.length > 0) valid({ fields: unknown });
    const { stamp } = valid(validateAction(driverAction, Object.fromEntries(head.query)));
    const toDeliver = { driverId, orderId: orderIdOf(head), stamp };
    const foreseen = await asAvailable(actions.foreseeDelivery(toDeliver));
    if (foreseen) return acted(foreseen);
    const photo = await deps.storePhoto(body, () => !signal.aborted).catch(photoStoreDown);
    if (photo.kind === 'busy') throw new ServiceError('unavailable', 'Too many photos at once; keep it and try again.');
    if (photo.kind === 'unusable') {
      throw new ServiceError(
        'unusable_photo',
        `The photo cannot be used: ${UNUSABLE[photo.reason]}. Nothing was changed.`,
      );
    }
    try {
      const outcome = await asWritten(actions.deliver(toDeliver, photo.name), SEND_AGAIN);
      if (outcome.kind !== 'done' || outcome.repeated) await deps.discardPhoto(photo.name);
      return acted(outcome);
    } catch (error) {
      // Sent again, it is stored again; after an unknown outcome an order may have it.
      if (error instanceof ServiceError && error.code === 'unavailable') await deps.discardPhoto(photo.name);
      throw error;
    }
  }

  return [
    action('pick-up', driverAction, actions.pickUp),
    action<ReleaseReason>('release', release, actions.release),
    action<UndeliverableReason>('undeliverable', undeliverable, actions.undeliverable),
    action('return', driverAction, actions.returned),
    {
      method: 'post',
      pattern: '/driver/orders/:id/deliver',
      authenticate,
      onDeadline: 'outcome_unknown',
      body: {
        contentTypes: ['image/jpeg', 'image/png', 'image/webp'],
        maxBytes: MAX_PHOTO_BYTES,
        deadlineMs: PHOTO_DEADLINE_MS,
      },
      handle: deliver,
    },
  ];
}

function photoStoreDown(cause: unknown): never {
  throw new ServiceError('unavailable', 'The photo could not be stored; keep it and try again.', { cause });
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
