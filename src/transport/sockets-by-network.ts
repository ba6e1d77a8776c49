/** Open sockets by the networks that they come from. A network without one takes no memory. */
export class SocketsByNetwork<Socket extends { readonly data: { readonly network: string } }> {
  /** The oldest sockets of a network are first. */
  readonly #networks = new Map<string, Set<Socket>>();
  #size = 0;

  /** Of all networks. */
  get size(): number {
    return this.#size;
  }

  /** Those of a network, the oldest first. */
  of(network: string): ReadonlySet<Socket> {
    return this.#networks.get(network) ?? new Set();
  }

  add(socket: Socket): void {
    const { network } = socket.data;
    const own = this.#networks.get(network) ?? new Set();
    this.#networks.set(network, own.add(socket));
    this.#size += 1;
  }

  /** Harmless twice. */
  delete(socket: Socket): void {
    const { network } = socket.data;
    const own = this.#networks.get(network);
    if (!own?.delete(socket)) return;
    this.#size -= 1;
    if (own.size === 0) this.#networks.delete(network);
  }

  /** The sockets of the network that has the most; of several, of the one that came first. */
  largest(): ReadonlySet<Socket> {
    let largest: ReadonlySet<Socket> = new Set();
    for (const sockets of this.#networks.values()) if (sockets.size > largest.size) largest = sockets;
    return largest;
  }
}
