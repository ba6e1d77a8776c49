import type { WaitPlace } from '../domain/idle-wait.ts';
import { networkOf } from '../domain/network.ts';
import type { DriverOrder } from '../store/drivers/drivers.ts';
import type { LiveSocket } from '../transport/live-socket.ts';
import { Allowance, DRIVER_MESSAGE_BURST, DRIVER_MESSAGES_PER_SECOND } from './allowance.ts';
import type { DutyWish } from './input.ts';
import { type DriverErrorCode, type Entry, errorMessage } from './messages.ts';

/** Malformed or surplus messages after which a driver's socket is closed. */
export const MAX_DRIVER_STRIKES = 50;

const POLICY_VIOLATION = 1008;

/** One socket of a driver's phone, from its upgrade to its end. */
export type DriverSession = {
  /** Until the driver has signed in, and their own counts. */
  readonly allowance: Allowance;
  readonly network: string;
  phase: 'new' | 'signing_in' | 'signed_in' | 'closed';
  driverId: string | null;
  /** Hash of the token that it signed in with. */
  tokenHash: string;
  /** When the driver came to this phone's page, see `isOutranked`; null where the phone does not say. */
  entry: Entry | null;
  strikes: number;
  helloTimer: NodeJS.Timeout | null;
  /** The duty the phone asked for last, while an earlier change is being written. */
  dutyWanted: DutyWish | null;
  dutyWriting: boolean;
  /** The orders whose customers the phone is not told yet. */
  withheld: readonly Pick<DriverOrder, 'status' | 'pickup'>[];
  /** Where the phone says that the driver is asked to wait. */
  waitAt: WaitPlace | null;
};

export type DriverSocket = LiveSocket<DriverSession>;

export function newSession(address: string, nowMs: number): DriverSession {
  return {
    network: networkOf(address),
    allowance: new Allowance(DRIVER_MESSAGE_BURST, DRIVER_MESSAGES_PER_SECOND, nowMs),
    phase: 'new',
    driverId: null,
    tokenHash: '',
    entry: null,
    strikes: 0,
    helloTimer: null,
    dutyWanted: null,
    dutyWriting: false,
    withheld: [],
    waitAt: null,
  };
}

/** Reads the phase anew: during an await the socket may have closed. */
export function isClosed(session: DriverSession): boolean {
  return session.phase === 'closed';
}

/**
 * Whether a page that says hello only comes back, while the driver has come to another one since: an idle page must
 * not take the place of the phone in use. One that does not say when its driver came goes before the other, and gives
 * way to the next.
 *
 * @param earlier of the driver's socket that is open
 */
export function isOutranked(entry: Entry | null, earlier: Entry | null): boolean {
  if (!entry || !earlier) return false;
  // A page gave this connection up, and its hello came late.
  if (entry.sinceMs === earlier.sinceMs) return entry.connection < earlier.connection;
  return entry.cameMs < earlier.cameMs;
}

export function stopHelloTimer(session: DriverSession): void {
  if (session.helloTimer) clearTimeout(session.helloTimer);
  session.helloTimer = null;
}

/** Tells the phone what is wrong with its message, or closes the socket after too many such messages. */
export function strike(socket: DriverSocket, code: DriverErrorCode, text: string): void {
  socket.data.strikes += 1;
  if (socket.data.strikes > MAX_DRIVER_STRIKES) socket.dismiss(POLICY_VIOLATION, 'too many unusable messages');
  else socket.send(errorMessage(code, text));
}
