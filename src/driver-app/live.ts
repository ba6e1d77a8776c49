import { hasSecretForm } from '../domain/ids.ts';
import {
  DRIVER_HELLO_MS,
  DRIVER_MESSAGE_BURST,
  DRIVER_MESSAGE_BYTES,
  DRIVER_MESSAGES_PER_SECOND,
  MAX_DRIVER_SOCKETS,
  MAX_DRIVER_STRIKES,
  SOCKET_IDLE_SECONDS,
} from '../limits.ts';
import { createLatestReader } from '../pages/latest-reader.ts';
import type { DriverState } from '../store/drivers.ts';
import type { LiveSocket, SocketBehaviour } from '../transport/live-socket.ts';
import { Allowance } from './allowance.ts';
import {
  DRIVER_PONG,
  type DriverErrorCode,
  type DriverReport,
  errorMessage,
  type ReportValidator,
  readDriverMessage,
  stateMessage,
} from './messages.ts';

export { driverStateOnWire } from './messages.ts';

/** Why a driver's socket is closed, beside the codes of RFC 6455. */
const NOT_SIGNED_IN = 4401;
const REPLACED = 4409;
const POLICY_VIOLATION = 1008;
const TRY_AGAIN_LATER = 1013;

export type DriverConnection = {
  readonly allowance: Allowance;
  readonly address: string;
  phase: 'new' | 'signing_in' | 'signed_in' | 'closed';
  driverId: string | null;
  strikes: number;
  helloTimer: NodeJS.Timeout | null;
  /** The duty the phone asked for last, while an earlier change is being written. */
  dutyWanted: boolean | null;
  dutyWriting: boolean;
};
type Socket = LiveSocket<DriverConnection>;

export type DriverLive = {
  readonly behaviour: SocketBehaviour<DriverConnection>;
  /** Sends the driver his state anew. Costs nothing where he is not connected to this process; never throws. */
  driverChanged(driverId: string): void;
  /** Reads the state of every connected driver again, for when notices may have been missed. */
  everythingChanged(): void;
  connected(): number;
  close(): void;
};

/**
 * A driver's phone over a WebSocket, as JSON messages. Up: `{"type":"hello","token"}` first and within
 * DRIVER_HELLO_MS, then `{"type":"position","lat","lng","captured_at"}`, `{"type":"duty","on_duty"}` and
 * `{"type":"ping"}`. Down: `{"type":"state","on_duty","order"}` after the hello and on every change (`order.sequence`
 * orders it with replies over HTTP), `{"type":"error","code","message"}`, `{"type":"pong"}`. A second connection of a
 * driver replaces the first.
 *
 * @param deps.authenticate the active driver behind a token, or null; `later` where the client's address guesses
 * @param deps.report takes a position into the matcher; synchronous
 * @param deps.setDuty null where the driver is not active any more; so is `findState`
 * @param deps.now a clock in milliseconds, for the rate of messages alone
 */
export function createDriverLive(deps: {
  readonly authenticate: (token: string, address: string) => Promise<{ readonly driverId: string } | 'later' | null>;
  readonly validateReport: ReportValidator;
  readonly report: (driverId: string, report: DriverReport) => 'taken' | 'older' | 'unknown_driver' | 'off_range';
  readonly setDuty: (driverId: string, onDuty: boolean) => Promise<unknown | null>;
  readonly findState: (driverId: string) => Promise<DriverState | null>;
  readonly now: () => number;
  readonly failed: (error: unknown) => void;
}): DriverLive {
  const signedIn = new Map<string, Socket>();
  const reader = createLatestReader({ read: deps.findState, apply: sendState, failed: deps.failed });

  function sendState(driverId: string, state: DriverState | null): void {
    const socket = signedIn.get(driverId);
    if (state) socket?.send(stateMessage(state));
    else socket?.close(NOT_SIGNED_IN, 'no longer a driver');
  }

  async function signIn(socket: Socket, token: string): Promise<void> {
    const { data } = socket;
    if (data.phase !== 'new') return strike(socket, 'already_signed_in', 'one hello is enough');
    data.phase = 'signing_in';
    const found = hasSecretForm('driver_token', token) ? await ask(() => deps.authenticate(token, data.address)) : null;
    if (isClosed(data)) return;
    stopHelloTimer(data);
    // The phone can tell a refused token from a service that cannot look it up.
    if (found === 'failed' || found === 'later') return socket.close(TRY_AGAIN_LATER, 'try again later');
    if (!found) return socket.close(NOT_SIGNED_IN, 'unknown token');
    const { driverId } = found;
    const earlier = signedIn.get(driverId);
    data.phase = 'signed_in';
    data.driverId = driverId;
    signedIn.set(driverId, socket);
    earlier?.close(REPLACED, 'connected from elsewhere');
    void reader.request(driverId);
  }

  /** Writes the duty the phone wants; of several asked for meanwhile only the last. */
  async function changeDuty(socket: Socket, driverId: string, onDuty: boolean): Promise<void> {
    const { data } = socket;
    data.dutyWanted = onDuty;
    if (data.dutyWriting) return;
    data.dutyWriting = true;
    while (data.dutyWanted !== null) {
      const wanted: boolean = data.dutyWanted;
      data.dutyWanted = null;
      const result = await ask(() => deps.setDuty(driverId, wanted));
      if (result === 'failed') socket.send(errorMessage('unavailable', 'duty was not changed, try again'));
      else if (signedIn.get(driverId) === socket) void reader.request(driverId);
    }
    data.dutyWriting = false;
  }

  async function ask<Value>(question: () => Promise<Value>): Promise<Value | 'failed'> {
    try {
      return await question();
    } catch (error) {
      deps.failed(error);
      return 'failed';
    }
  }

  function takeReport(socket: Socket, driverId: string, report: DriverReport): void {
    const outcome = deps.report(driverId, report);
    if (outcome === 'off_range') strike(socket, 'malformed', 'lat and lng must be degrees on Earth');
    if (outcome === 'unknown_driver') socket.send(errorMessage('unavailable', 'the driver is not known here yet'));
  }

  function message(socket: Socket, text: string): void {
    const { data } = socket;
    if (isClosed(data)) return;
    if (!data.allowance.take(deps.now())) {
      strike(socket, 'rate_limited', 'too many messages');
      return;
    }
    const read = readDriverMessage(text, deps.validateReport);
    if (read.type === 'malformed') strike(socket, 'malformed', read.message);
    else if (read.type === 'hello') signIn(socket, read.token).catch(deps.failed);
    else if (data.driverId === null) strike(socket, 'hello_first', 'say hello and wait for the state');
    else if (read.type === 'position') takeReport(socket, data.driverId, read.report);
    else if (read.type === 'duty') changeDuty(socket, data.driverId, read.onDuty).catch(deps.failed);
    else socket.send(DRIVER_PONG);
  }

  function closed(socket: Socket): void {
    const { data } = socket;
    stopHelloTimer(data);
    data.phase = 'closed';
    if (data.driverId === null || signedIn.get(data.driverId) !== socket) return;
    signedIn.delete(data.driverId);
    reader.forget(data.driverId);
  }

  return {
    behaviour: {
      path: '/driver/live',
      maxMessageBytes: DRIVER_MESSAGE_BYTES,
      idleTimeoutSeconds: SOCKET_IDLE_SECONDS,
      maxSockets: MAX_DRIVER_SOCKETS,
      async accept({ remoteAddress }) {
        return {
          address: remoteAddress,
          allowance: new Allowance(DRIVER_MESSAGE_BURST, DRIVER_MESSAGES_PER_SECOND, deps.now()),
          phase: 'new',
          driverId: null,
          strikes: 0,
          helloTimer: null,
          dutyWanted: null,
          dutyWriting: false,
        };
      },
      opened(socket) {
        socket.data.helloTimer = setTimeout(() => socket.close(NOT_SIGNED_IN, 'no hello'), DRIVER_HELLO_MS);
        socket.data.helloTimer.unref();
      },
      message,
      closed,
    },
    driverChanged(driverId) {
      if (signedIn.has(driverId)) void reader.request(driverId);
    },
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

/** The phase as it is now; after an await it may have changed under whoever set it. */
function isClosed(data: DriverConnection): boolean {
  return data.phase === 'closed';
}

function stopHelloTimer(data: DriverConnection): void {
  if (data.helloTimer) clearTimeout(data.helloTimer);
  data.helloTimer = null;
}

/** Tells the phone what was wrong with its message; one that goes on is closed. */
function strike(socket: Socket, code: DriverErrorCode, text: string): void {
  socket.data.strikes += 1;
  if (socket.data.strikes > MAX_DRIVER_STRIKES) socket.close(POLICY_VIOLATION, 'too many unusable messages');
  else socket.send(errorMessage(code, text));
}
