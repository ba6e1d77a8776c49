import { below, MAX_UNSIGNED_DRIVER_SOCKETS } from '../limits.ts';
import { SocketsByNetwork } from '../transport/sockets-by-network.ts';
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
  readonly #sockets = new SocketsByNetwork<DriverSocket>();

  get size(): number {
    return this.#sockets.size;
  }

  /** Lets a new socket in; returns another one that has to go for it, or null. */
  enter(socket: DriverSocket): DriverSocket | null {
    this.#sockets.add(socket);
    const own = this.#sockets.of(socket.data.network);
    if (own.size > MAX_UNSIGNED_SOCKETS_PER_ADDRESS) return oldestBeside(socket, own);
    return this.size > MAX_UNSIGNED_DRIVER_SOCKETS ? oldestBeside(socket, this.#sockets.largest()) : null;
  }

  /** The socket has signed in or is closed. Harmless twice. */
  leave(socket: DriverSocket): void {
    this.#sockets.delete(socket);
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
