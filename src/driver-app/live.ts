import type { DriverActions } from '../dispatch/driver-actions.ts';
import type { PositionReport, Positions } from '../dispatch/positions.ts';
import type { DriverPosition } from '../domain/driver.ts';
import { ServiceError } from '../domain/errors.ts';
import { isThere } from '../domain/idle-wait.ts';
import { hashSecret, hasSecretForm } from '../domain/ids.ts';
import type { Credentials } from '../http/credentials.ts';
import { MAX_DRIVER_SOCKETS, SOCKET_IDLE_SECONDS } from '../limits.ts';
import { createLatestReader } from '../pages/latest-reader.ts';
import type { Clock } from '../postgres/clock.ts';
import type { DriverState } from '../store/drivers/drivers.ts';
import type { Store } from '../store/store.ts';
import type { SocketBehaviour } from '../transport/live-socket.ts';
import type { DriverAllowances } from './allowance.ts';
import type { Driver } from './driver.ts';
import type { DutyWish } from './input.ts';
import { Lobby } from './lobby.ts';
import {
  DRIVER_PONG,
  type DriverMessage,
  type Entry,
  errorMessage,
  readDriverMessage,
  seesCustomer,
  stateMessage,
  waitOf,
} from './messages.ts';
import {
  type DriverSession,
  type DriverSocket,
  isClosed,
  isOutranked,
  newSession,
  stopHelloTimer,
  strike,
} from './session.ts';

/** Largest message of a driver's phone in bytes. A position has about 120. */
const DRIVER_MESSAGE_BYTES = 1_024;
/** Longest time for a driver's socket to send its token. */
export const DRIVER_HELLO_MS = 5_000;

/** Why a driver's socket is closed, beside the codes of RFC 6455. */
const NOT_SIGNED_IN = 4401;
const REPLACED = 4409;
const TRY_AGAIN_LATER = 1013;
const ELSEWHERE = 'connected from elsewhere';

export type DriverLive = ReturnType<typeof createDriverLive>;

/**
 * A driver's phone over a WebSocket, as JSON messages. Up: `{"type":"hello","token","since_ms","connection"}`
 * first and within DRIVER_HELLO_MS, then `{"type":"position","lat","lng","captured_at"}`,
 * `{"type":"duty","on_duty"}` and `{"type":"ping"}`. Down: `{"type":"state",…}`, as `driverStateOnWire` makes
 * it, after the hello and on every change (`order.sequence` orders it with replies over HTTP),
 * `{"type":"error","code","message"}`, `{"type":"pong"}`. A second connection of a driver replaces the first,
 * unless `isOutranked` by it. Only sockets that have signed in count against MAX_DRIVER_SOCKETS.
 *
 * @param parts.allowances shared with the driver's requests over HTTP
 * @param parts.now a clock in milliseconds, for the rate of messages alone
 * @param parts.failed called for each read or write that failed; reads are retried
 */
export function createDriverLive(parts: {
  readonly drivers: Pick<Credentials<Driver>, 'find'>;
  readonly actions: Pick<DriverActions, 'setDuty'>;
  readonly positions: Pick<Positions, 'report' | 'last'>;
  readonly store: Pick<Store, 'findDriverStates'>;
  readonly allowances: Pick<DriverAllowances, 'messages'>;
  readonly now: () => number;
  readonly clock: Clock;
  readonly failed: (error: unknown) => void;
}) {
  const { drivers, actions, positions, store, allowances, now, clock, failed } = parts;
  const lobby = new Lobby();
  const signedIn = new Map<string, DriverSocket>();
  const reader = createLatestReader({ read: (ids) => store.findDriverStates(ids), apply: sendState, failed });

  function sendState(driverId: string, state: DriverState | null): void {
    const socket = signedIn.get(driverId);
    if (!state) socket?.close(NOT_SIGNED_IN, 'no longer a driver');
    if (!socket || !state) return;
    // Each read asks, so that a notice that was missed lets no former phone go on.
    if (state.tokenHash !== socket.data.tokenHash) {
      socket.close(NOT_SIGNED_IN, 'another token');
      return;
    }
    const at = positions.last(driverId);
    socket.data.withheld = state.orders.filter((order) => !seesCustomer(order, at));
    socket.data.waitAt = waitOf(state, at);
    socket.send(stateMessage(state, at, clock.now()));
  }

  async function signIn(socket: DriverSocket, token: string, entry: Entry | null): Promise<void> {
    const { data } = socket;
    if (data.phase !== 'new') return strike(socket, 'already_signed_in', 'one hello is enough');
    data.phase = 'signing_in';
    const found = await findDriver(token);
    if (isClosed(data)) return;
    stopHelloTimer(data);
    // The phone can tell a refused token from a service that cannot look it up.
    if (found === 'later') return socket.dismiss(TRY_AGAIN_LATER, 'try again later');
    if (!found) return socket.dismiss(NOT_SIGNED_IN, 'unknown token');
    const { driverId } = found;
    const earlier = signedIn.get(driverId);
    const isFull = !earlier && signedIn.size >= MAX_DRIVER_SOCKETS;
    if (isFull || !allowances.messages.take(driverId)) return socket.dismiss(TRY_AGAIN_LATER, 'try again later');
    const tokenHash = hashSecret(token);
    const hasSameToken = earlier?.data.tokenHash === tokenHash;
    if (isOutranked(entry, hasSameToken ? earlier.data.entry : null)) return socket.dismiss(REPLACED, ELSEWHERE);
    lobby.leave(socket);
    data.phase = 'signed_in';
    data.driverId = driverId;
    data.tokenHash = tokenHash;
    data.entry = entry;
    signedIn.set(driverId, socket);
    // A read that began before may have the token of before.
    if (earlier) reader.forget(driverId);
    if (hasSameToken) earlier.close(REPLACED, ELSEWHERE);
    // Either token may be the driver's by now: the read that follows, and the next hello, say which.
    else earlier?.close(TRY_AGAIN_LATER, 'another token');
    void reader.request(driverId);
  }

  /** The active driver behind a token; `later` where it cannot be looked up now. */
  async function findDriver(token: string): Promise<Driver | 'later' | null> {
    if (!hasSecretForm('driver_token', token)) return null;
    try {
      return await drivers.find(hashSecret(token));
    } catch (error) {
      // Too many unknown tokens while notices do not arrive are no failure of their own.
      if (!(error instanceof ServiceError)) failed(error);
      return 'later';
    }
  }

  /** Writes the duty the phone wants; of several changes asked for meanwhile, only the last. */
  async function changeDuty(socket: DriverSocket, driverId: string, wish: DutyWish): Promise<void> {
    const { data } = socket;
    data.dutyWanted = wish;
    if (data.dutyWriting) return;
    data.dutyWriting = true;
    while (data.dutyWanted !== null) {
      const wanted: DutyWish = data.dutyWanted;
      data.dutyWanted = null;
      if (!(await isDutyWritten(driverId, wanted))) {
        socket.send(errorMessage('unavailable', 'duty was not changed, try again'));
      } else if (signedIn.get(driverId) === socket) void reader.request(driverId);
    }
    data.dutyWriting = false;
  }

  async function isDutyWritten(driverId: string, { onDuty, until }: DutyWish): Promise<boolean> {
    try {
      await actions.setDuty(driverId, onDuty, until);
      return true;
    } catch (error) {
      failed(error);
      return false;
    }
  }

  function takePosition(socket: DriverSocket, driverId: string, location: PositionReport): void {
    const outcome = positions.report(driverId, location);
    if (outcome === 'off_range') strike(socket, 'malformed', 'lat and lng must be degrees on Earth');
    if (outcome === 'unknown_driver') socket.send(errorMessage('unavailable', 'the driver is not known here yet'));
  }

  function message(socket: DriverSocket, text: string): void {
    const { data } = socket;
    if (isClosed(data)) return;
    const mayGo = data.driverId === null ? data.allowance.take(now()) : allowances.messages.take(data.driverId);
    if (mayGo) obey(socket, readDriverMessage(text, clock.now()));
    else strike(socket, 'rate_limited', 'too many messages');
  }

  function obey(socket: DriverSocket, read: DriverMessage): void {
    const { data } = socket;
    if (read.type === 'malformed') strike(socket, 'malformed', read.message);
    else if (read.type === 'hello') signIn(socket, read.token, read.entry).catch(failed);
    else if (data.driverId === null) strike(socket, 'hello_first', 'say hello and wait for the state');
    else if (read.type === 'position') takePosition(socket, data.driverId, read.location);
    else if (read.type === 'duty') changeDuty(socket, data.driverId, read.wish).catch(failed);
    else socket.send(DRIVER_PONG);
  }

  function closed(socket: DriverSocket): void {
    const { data } = socket;
    stopHelloTimer(data);
    lobby.leave(socket);
    data.phase = 'closed';
    if (data.driverId === null || signedIn.get(data.driverId) !== socket) return;
    signedIn.delete(data.driverId);
    reader.forget(data.driverId);
  }

  function driverMoved(at: DriverPosition): void {
    const data = signedIn.get(at.driverId)?.data;
    if (!data) return;
    const hasCome = data.waitAt !== null && isThere(at, data.waitAt);
    if (!hasCome && !data.withheld.some((order) => seesCustomer(order, at))) return;
    data.withheld = [];
    data.waitAt = null;
    void reader.request(at.driverId);
  }

  return {
    behaviour: {
      path: '/driver/live',
      maxMessageBytes: DRIVER_MESSAGE_BYTES,
      idleTimeoutSeconds: SOCKET_IDLE_SECONDS,
      accept: async ({ remoteAddress }) => newSession(remoteAddress, now()),
      opened(socket) {
        socket.data.helloTimer = setTimeout(() => socket.dismiss(NOT_SIGNED_IN, 'no hello'), DRIVER_HELLO_MS);
        socket.data.helloTimer.unref();
        lobby.enter(socket)?.cut();
      },
      message,
      closed,
    } satisfies SocketBehaviour<DriverSession>,
    /**
     * Sends the driver's state again, or closes a socket that signed in with a token of before. Costs nothing where the
     * driver is not connected here; never throws.
     */
    driverChanged(driverId: string) {
      if (signedIn.has(driverId)) void reader.request(driverId);
    },
    /**
     * Sends the driver's state again where they have come to a place that shows more of it. Costs a look into a map
     * where nothing is withheld; never throws.
     */
    driverMoved,
    /** Reads the state of every connected driver again, for when notices may have been missed. */
    everythingChanged() {
      for (const driverId of signedIn.keys()) void reader.request(driverId);
    },
    connected: () => signedIn.size,
    close() {
      reader.close();
      for (const { data } of signedIn.values()) stopHelloTimer(data);
      signedIn.clear();
    },
  };
}
