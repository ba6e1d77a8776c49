/**
 * Time between two sockets of a kind that come back after a stop, so that the process that is left gets 333 a
 * second. All MAX_TRACKING_SOCKETS are back within a minute.
 */
export const SOCKET_RETURN_MS = 3;

/** Close code of a socket whose process stops, from the registry of RFC 6455. Another process is there meanwhile. */
export const SERVICE_RESTARTS = 1012;

/** The close reason: in how many milliseconds to come back, so that all do one after the other. */
export const restartReason = (place: number): string => String(place * SOCKET_RETURN_MS);

/** What the close reason says; null where the socket was closed for something else, or by somebody else. */
export function restartWaitMs({ code, reason }: { readonly code: number; readonly reason: string }): number | null {
  return code === SERVICE_RESTARTS && /^\d{1,5}$/.test(reason) ? Number(reason) : null;
}
