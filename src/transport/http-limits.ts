import {
  atMost,
  below,
  MAX_BODY_BYTES_PER_CALLER,
  MAX_CONNECTIONS,
  MAX_JSON_BYTES,
  MAX_OPEN_CONNECTIONS,
  MAX_PHOTO_BYTES,
  MAX_REQUESTS_IN_FLIGHT,
  MAX_UNAUTHENTICATED_BODY_BYTES,
  MAX_WAITING_BODIES_PER_CALLER,
  REQUEST_DEADLINE_MS,
} from '../limits.ts';

/** Longest time for a JSON body to arrive. Below the 8 s at which the transport may cut the upload. */
const BODY_DEADLINE_MS = 7_000;
/** Most bytes of JSON bodies held by one process; a body that does not fit is refused with 503. */
const MAX_BUFFERED_BODY_BYTES = 128 * 1024 * 1024;
/**
 * Most bytes of photos held by one process; a photo that does not fit is refused with 503. A driver sends one
 * at a time, so at most MAX_PHOTO_BYTES of them are theirs.
 */
const MAX_BUFFERED_PHOTO_BYTES = 128 * 1024 * 1024;
/**
 * Most bytes read and dropped of a refused body to keep the connection open; a longer body closes it. Of a
 * sender who is let in it is as much as their route takes, so that they hear why.
 */
const MAX_DISCARDED_BODY_BYTES = 1024 * 1024;
/**
 * Most bytes of large replies that one network has unread, here and in the system's buffers, which hold up to
 * 4 MB for a connection; one more is refused with 503. The script of `/docs` has 0.5 MB compressed. At least
 * MAX_PHOTO_BYTES.
 */
const MAX_UNSENT_BYTES_PER_NETWORK = 32 * 1024 * 1024;
/** Most of them for all networks. Above MAX_UNSENT_BYTES_PER_NETWORK, sixteen times as much. */
const MAX_UNSENT_BYTES = 512 * 1024 * 1024;
/** Longest time to accept a WebSocket; then it is refused with 503. */
const UPGRADE_DEADLINE_MS = 5_000;
/** Most unsent bytes of one WebSocket, a few hundred messages; a slower reader is dropped. */
const SOCKET_BACKPRESSURE_BYTES = 64 * 1024;
/** Earliest time at which the transport cuts a silent connection; the latest is 12 s. */
const TRANSPORT_SILENCE_MS = 8_000;

/**
 * Unread bytes up to which a network is given a reply also where all others together have MAX_UNSENT_BYTES, until such
 * networks have as much again: a page with all of its files has 0.25 MB. Below MAX_UNSENT_BYTES_PER_NETWORK.
 */
const SMALL_UNSENT_BYTES = 384 * 1024;

below({ BODY_DEADLINE_MS }, { TRANSPORT_SILENCE_MS });
atMost({ MAX_JSON_BYTES }, { MAX_BUFFERED_BODY_BYTES });
atMost({ MAX_PHOTO_BYTES }, { MAX_UNSENT_BYTES_PER_NETWORK });
below({ MAX_UNSENT_BYTES_PER_NETWORK }, { MAX_UNSENT_BYTES });
below({ SMALL_UNSENT_BYTES }, { MAX_UNSENT_BYTES_PER_NETWORK });
atMost({ 'eight times MAX_BODY_BYTES_PER_CALLER': 8 * MAX_BODY_BYTES_PER_CALLER }, { MAX_BUFFERED_BODY_BYTES });

/** The bounds of a server, from `limits.ts`. */
export const HTTP_LIMITS = {
  maxConnections: MAX_CONNECTIONS,
  /** With open sockets. */
  maxOpenConnections: MAX_OPEN_CONNECTIONS,
  maxRequestsInFlight: MAX_REQUESTS_IN_FLIGHT,
  maxBufferedBodyBytes: MAX_BUFFERED_BODY_BYTES,
  maxBufferedPhotoBytes: MAX_BUFFERED_PHOTO_BYTES,
  maxBodyBytesPerCaller: MAX_BODY_BYTES_PER_CALLER,
  maxWaitingBodiesPerCaller: MAX_WAITING_BODIES_PER_CALLER,
  maxUnauthenticatedBodyBytes: MAX_UNAUTHENTICATED_BODY_BYTES,
  maxDiscardedBodyBytes: MAX_DISCARDED_BODY_BYTES,
  maxUnsentBytesPerNetwork: MAX_UNSENT_BYTES_PER_NETWORK,
  maxUnsentBytes: MAX_UNSENT_BYTES,
  smallUnsentBytes: SMALL_UNSENT_BYTES,
  bodyDeadlineMs: BODY_DEADLINE_MS,
  requestDeadlineMs: REQUEST_DEADLINE_MS,
  upgradeDeadlineMs: UPGRADE_DEADLINE_MS,
  socketBackpressureBytes: SOCKET_BACKPRESSURE_BYTES,
};

/** A test may tighten them. */
export type HttpLimits = Readonly<typeof HTTP_LIMITS>;
