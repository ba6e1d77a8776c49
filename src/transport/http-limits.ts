import * as bounds from '../limits.ts';

/** The bounds of a server, from `limits.ts`; a test may tighten them. */
export type HttpLimits = {
  readonly maxConnections: number;
  /** With open sockets. */
  readonly maxOpenConnections: number;
  readonly maxRequestsInFlight: number;
  readonly maxBufferedBodyBytes: number;
  readonly maxBufferedPhotoBytes: number;
  readonly maxBodyBytesPerCaller: number;
  readonly maxWaitingBodiesPerCaller: number;
  readonly maxUnauthenticatedBodyBytes: number;
  readonly maxDiscardedBodyBytes: number;
  readonly maxUnsentBytesPerNetwork: number;
  readonly maxUnsentBytes: number;
  readonly bodyDeadlineMs: number;
  readonly requestDeadlineMs: number;
  readonly upgradeDeadlineMs: number;
  readonly socketBackpressureBytes: number;
};

export const HTTP_LIMITS: HttpLimits = {
  maxConnections: bounds.MAX_CONNECTIONS,
  maxOpenConnections: bounds.MAX_OPEN_CONNECTIONS,
  maxRequestsInFlight: bounds.MAX_REQUESTS_IN_FLIGHT,
  maxBufferedBodyBytes: bounds.MAX_BUFFERED_BODY_BYTES,
  maxBufferedPhotoBytes: bounds.MAX_BUFFERED_PHOTO_BYTES,
  maxBodyBytesPerCaller: bounds.MAX_BODY_BYTES_PER_CALLER,
  maxWaitingBodiesPerCaller: bounds.MAX_WAITING_BODIES_PER_CALLER,
  maxUnauthenticatedBodyBytes: bounds.MAX_UNAUTHENTICATED_BODY_BYTES,
  maxDiscardedBodyBytes: bounds.MAX_DISCARDED_BODY_BYTES,
  maxUnsentBytesPerNetwork: bounds.MAX_UNSENT_BYTES_PER_NETWORK,
  maxUnsentBytes: bounds.MAX_UNSENT_BYTES,
  bodyDeadlineMs: bounds.BODY_DEADLINE_MS,
  requestDeadlineMs: bounds.REQUEST_DEADLINE_MS,
  upgradeDeadlineMs: bounds.UPGRADE_DEADLINE_MS,
  socketBackpressureBytes: bounds.SOCKET_BACKPRESSURE_BYTES,
};
