import { MAX_TRACKING_SOCKETS } from '../limits.ts';
import type { LiveSocket } from '../transport/live-socket.ts';
import { SocketsByNetwork } from '../transport/sockets-by-network.ts';
import type { Viewer } from './watched.ts';

/**
 * The places of customers' pages, which the networks share: where all are taken, the network with the most loses one to
 * a page of a network that has fewer. So a flood crowds out itself. Two networks with about as many take none from each
 * other, since pages come back.
 */
export class ViewerPlaces {
  readonly #sockets = new SocketsByNetwork<LiveSocket<Viewer>>();
  readonly #places: number;

  constructor(places = MAX_TRACKING_SOCKETS) {
    this.#places = places;
  }

  /** Places that are taken. */
  get taken(): number {
    return this.#sockets.size;
  }

  /** Whether one more page of this network finds a place. */
  isOpenTo(network: string): boolean {
    return this.taken < this.#places || this.#sockets.of(network).size + 1 < this.#sockets.largest().size;
  }

  /** Lets a new socket in; returns one that has to go for it, which may be itself, or null. */
  enter(socket: LiveSocket<Viewer>): LiveSocket<Viewer> | null {
    const isOpen = this.isOpenTo(socket.data.network);
    this.#sockets.add(socket);
    if (this.taken <= this.#places) return null;
    const [oldest = socket] = this.#sockets.largest();
    return isOpen ? oldest : socket;
  }

  /** Harmless twice. */
  leave(socket: LiveSocket<Viewer>): void {
    this.#sockets.delete(socket);
  }
}
