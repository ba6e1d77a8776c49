import { below, MAX_UNSIGNED_DRIVER_SOCKETS } from '../limits.ts';
import type { DriverSocket } from './session.ts';

/**
 * Most of them from one address; a mobile carrier has many phones behind one. Below
 * MAX_UNSIGNED_DRIVER_SOCKETS, so that no address takes all.
 */
export const MAX_UNSIGNED_SOCKETS_PER_ADDRESS = 250;

below({ MAX_UNSIGNED_SOCKETS_PER_ADDRESS }, { MAX_UNSIGNED_DRIVER_SOCKETS });

/**
 * The sockets that have not signed in. They have a place of their own, which the networks share: where it is
 * full, the network with the most sockets there loses one. So a flood crowds out itself, and no phone that
 * comes from elsewhere.
 */
export class Lobby {
  /** The oldest sockets of a network are first. */
  readonly #networks = new Map<string, Set<DriverSocket>>();
  #size = 0;

  get size(): number {
    return this.#size;
  }

  /** Lets a new socket in; returns another one that has to go for it, or null. */
  enter(socket: DriverSocket): DriverSocket | null {
    const { network } = socket.data;
    const own = this.#networks.get(network) ?? new Set();
    this.#networks.set(network, own.add(socket));
    this.#size += 1;
    if (own.size > MAX_UNSIGNED_SOCKETS_PER_ADDRESS) return oldestBeside(socket, own);
    return this.#size > MAX_UNSIGNED_DRIVER_SOCKETS ? oldestBeside(socket, this.#largest()) : null;
  }

  /** The socket has signed in or is closed. Harmless twice. */
  leave(socket: DriverSocket): void {
    const { network } = socket.data;
    const own = this.#networks.get(network);
    if (!own?.delete(socket)) return;
    this.#size -= 1;
    if (own.size === 0) this.#networks.delete(network);
  }

  /** The sockets of the network that has the most; of several, of the one that came first. */
  #largest(): ReadonlySet<DriverSocket> {
    let largest: ReadonlySet<DriverSocket> = new Set();
    for (const sockets of this.#networks.values()) if (sockets.size > largest.size) largest = sockets;
    return largest;
  }
}

/** The oldest socket that has not sent its token, or the oldest of all where the others have. */
function oldestBeside(socket: DriverSocket, sockets: ReadonlySet<DriverSocket>): DriverSocket | null {
  let oldest: DriverSocket | null = null;
  for (const each of sockets) {
    if (each === socket) continue;
    if (each.data.phase === 'new') return each;
    oldest ??= each;
  }
  return oldest;
}
