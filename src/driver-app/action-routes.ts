import type { ActionOutcome, DriverAction, DriverActions } from '../dispatch/driver-actions.ts';
import { ServiceError } from '../domain/errors.ts';
import type { StoredPhoto, UnusablePhoto } from '../domain/photo.ts';
import type { Authenticator } from '../http/credentials.ts';
import { JSON_BODY, orderIdOf, parsed, wrongNames } from '../http/input.ts';
import { asAvailable, asWritten } from '../http/outcomes.ts';
import { schemas } from '../http/schemas.ts';
import { valid } from '../http/validate.ts';
import { type Validator, validators } from '../http/validators.js';
import { MAX_PHOTO_BYTES, MAX_PHOTO_PIXELS, MAX_PHOTO_SIDE, PHOTO_DEADLINE_MS } from '../limits.ts';
import { json } from '../transport/reply.ts';
import type { Reply, RequestHead, Route, RouteEntry, RouteRequest } from '../transport/route.ts';
import type { DriverAllowances } from './allowance.ts';
import type { Driver } from './driver.ts';
import { type ActionBody, validateAction } from './input.ts';
import { driverActions } from './operations.ts';
import type { PhotoTurns } from './photo-turns.ts';

/** What follows "The photo cannot be used:". */
const UNUSABLE: Record<UnusablePhoto, string> = {
  too_many_bytes: `it is larger than ${MAX_PHOTO_BYTES} bytes`,
  wrong_format: 'it is not a JPEG, PNG or WebP',
  too_many_pixels: `it has more than ${MAX_PHOTO_PIXELS} pixels, or a side of more than ${MAX_PHOTO_SIDE}`,
  damaged: 'it is damaged or cut short',
  too_slow: 'it takes too long to decode',
};
const SEND_AGAIN = 'Send the same action again with the same action_id, or ask for your order.';

/** Where the photos of handovers are stored. */
export type ProofPhotos = {
  /** Stores a driver's upload, unless `wanted` says false before its turn comes. */
  store(bytes: Buffer, wanted: () => boolean, driverId: string): Promise<StoredPhoto>;
  /** Removes a photo whose delivery was refused. */
  discard(name: string): Promise<void>;
  /** Why `store` failed, in words; null where the error says nothing of it that is known. */
  failureCause(error: unknown): string | null;
};

/**
 * Actions on an order: `POST /driver/orders/{id}/pick-up`, `deliver`, `deliver-without-photo`, `release`,
 * `undeliverable`, `return`.
 */
export function driverActionRoutes(parts: {
  readonly drivers: Pick<Authenticator<Driver>, 'authenticate'>;
  readonly actions: DriverActions;
  readonly photos: ProofPhotos;
  readonly allowances: Pick<DriverAllowances, 'requests'>;
  readonly photoTurns: PhotoTurns;
}): Route<Driver>[] {
  const { actions, photos, photoTurns } = parts;
  const { authenticate } = parts.drivers;
  const { requests } = parts.allowances;

  /** An action whose body is JSON: the stamp, and a reason where the schema asks for one. */
  function action<Body extends ActionBody>(
    name: keyof typeof driverActions,
    fits: Validator<Body>,
    run: (action: DriverAction, body: Body) => Promise<ActionOutcome>,
  ): Route<Driver> {
    return {
      method: 'post',
      pattern: `/driver/orders/:id/${name}`,
      operation: driverActions[name],
      authenticate,
      admit: requests.admit,
      onDeadline: 'outcome_unknown',
      body: { ...JSON_BODY, optional: true },
      async handle({ head, principal: { driverId }, body: sent }) {
        const { stamp, body } = valid(validateAction(fits, parsed(sent, true)));
        return replyTo(await asWritten(run({ driverId, orderId: orderIdOf(head), stamp }, body), SEND_AGAIN));
      },
    };
  }

  /** Only a photo that its order waits for is taken; a repeated action gets its first answer without one. */
  async function admitDelivery(entry: RouteEntry<Driver>): Promise<Reply | null> {
    requests.admit(entry);
    const { driverId } = entry.principal;
    const delivery = deliveryOf(entry.head, driverId);
    photoTurns.begin(driverId);
    entry.whenOver(() => photoTurns.end(driverId));
    const foreseen = await asAvailable(actions.foreseeDelivery(delivery));
    if (foreseen) return replyTo(foreseen);
    photoTurns.checkWait(driverId);
    return null;
  }

  async function deliver({ head, principal: { driverId }, body, signal }: RouteRequest<Driver>): Promise<Reply> {
    const delivery = deliveryOf(head, driverId);
    const photo = await storePhoto(driverId, body, () => !signal.aborted);
    try {
      const outcome = await asWritten(actions.deliver(delivery, photo), SEND_AGAIN);
      if (outcome.kind !== 'done' || outcome.repeated) await photos.discard(photo.name);
      return replyTo(outcome);
    } catch (error) {
      // Sent again, it is stored again; after an unknown outcome an order may have it.
      if (error instanceof ServiceError && error.code === 'unavailable') await photos.discard(photo.name);
      throw error;
    }
  }

  async function storePhoto(driverId: string, bytes: Buffer, wanted: () => boolean) {
    const photo = await photos
      .store(bytes, wanted, driverId)
      .catch((error) => photoStorageDown(error, photos.failureCause(error)));
    switch (photo.kind) {
      case 'stored':
        photoTurns.forgive(driverId);
        return photo;
      case 'busy':
        throw new ServiceError('unavailable', 'Too many photos at once; keep it and try again.');
      case 'unusable':
        photoTurns.refuse(driverId);
        throw new ServiceError(
          'unusable_photo',
          `The photo cannot be used: ${UNUSABLE[photo.reason]}. Nothing was changed.`,
        );
    }
  }

  return [
    action('pick-up', validators.driverAction, actions.pickUp),
    action('release', validators.release, (release, { reason }) => actions.release(release, reason)),
    action('undeliverable', validators.undeliverable, (failed, { reason }) => actions.undeliverable(failed, reason)),
    action('return', validators.driverAction, actions.returned),
    action('deliver-without-photo', validators.driverAction, (delivery) => actions.deliver(delivery, null)),
    {
      method: 'post',
      pattern: '/driver/orders/:id/deliver',
      operation: driverActions.deliver,
      authenticate,
      admit: admitDelivery,
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

/** The body is the photo, so the stamp stands in the query. */
function deliveryOf(head: RequestHead, driverId: string): DriverAction {
  const unknown = wrongNames(head.query, schemas.driverAction.properties);
  if (unknown.length > 0) valid({ fields: unknown });
  const { stamp } = valid(validateAction(validators.driverAction, Object.fromEntries(head.query)));
  return { driverId, orderId: orderIdOf(head), stamp };
}

function photoStorageDown(cause: unknown, words: string | null): never {
  const why = words === null ? '' : `: ${words}`;
  const message = `The photo could not be stored${why}. Nothing was changed; keep it and try again.`;
  throw new ServiceError('unavailable', message, { cause });
}

function replyTo(outcome: ActionOutcome): Reply {
  switch (outcome.kind) {
    case 'done':
      return json(200, { success: true, order: { status: outcome.status, sequence: outcome.sequence } });
    case 'not_found':
      throw new ServiceError('not_found', 'There is no such order.');
    case 'too_many_releases': {
      const { retryAfterSeconds } = outcome;
      const again = `You can give one back again ${inWords(retryAfterSeconds)}.`;
      const message = `You gave back too many orders. ${again} If you cannot do this one, tell your operator.`;
      throw new ServiceError('too_many_releases', message, { retryAfterSeconds });
    }
    case 'illegal':
      throw new ServiceError('illegal_transition', `The order is ${outcome.status}; nothing was changed.`);
  }
}

function inWords(seconds: number): string {
  const minutes = Math.ceil(seconds / 60);
  if (minutes < 100) return minutes === 1 ? 'in a minute' : `in ${minutes} minutes`;
  return `in ${Math.ceil(minutes / 60)} hours`;
}
