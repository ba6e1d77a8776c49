import { connect, isIP, type Socket } from 'node:net';
import { connect as connectTls } from 'node:tls';

/** Above the service's own deadline, whose answer says more. */
const ANSWER_MS = 60_000;
const MAX_CONNECTIONS = 512;
/** Idle time after which a connection is closed, before the server closes it, as HTTP clients do. */
const IDLE_MS = 4_000;

type Answer = { readonly status: number; readonly body: string };

/**
 * Kept connections that carry one request at a time. If all are busy a request waits for the first free one.
 */
export class ConnectionPool {
  readonly #target: URL;
  readonly #max: number;
  readonly #idle: Connection[] = [];
  readonly #all = new Set<Connection>();
  readonly #waiting: ((connection: Connection) => void)[] = [];

  constructor(target: URL, max = MAX_CONNECTIONS) {
    this.#target = target;
    this.#max = max;
  }

  async ask(wire: Buffer): Promise<Answer> {
    const connection = await this.#take();
    try {
      return await connection.ask(wire);
    } finally {
      this.#put(connection);
    }
  }

  #put(connection: Connection): void {
    const next = this.#waiting.shift();
    if (next) next(connection.isOpen ? connection : this.#open(connection));
    else this.#idle.push(connection);
  }

  #take(): Promise<Connection> | Connection {
    for (let idle = this.#idle.pop(); idle; idle = this.#idle.pop()) {
      if (idle.isOpen && performance.now() - idle.usedMs < IDLE_MS) return idle;
      idle.close();
      this.#all.delete(idle);
    }
    if (this.#all.size === this.#max) return new Promise((resolve) => this.#waiting.push(resolve));
    return this.#open();
  }

  #open(instead?: Connection): Connection {
    if (instead) this.#all.delete(instead);
    const connection = new Connection(openSocket(this.#target));
    this.#all.add(connection);
    return connection;
  }

  close(): void {
    for (const connection of this.#all) connection.close();
  }
}

function openSocket({ protocol, hostname, port }: URL): Socket {
  const host = hostname.replace(/^\[|\]$/g, '');
  if (protocol !== 'https:') return connect(Number(port || 80), host);
  return connectTls({ port: Number(port || 443), host, ...(isIP(host) ? {} : { servername: host }) });
}

class Connection {
  readonly #socket: Socket;
  /** Time of the last request. */
  usedMs = 0;
  #received = '';
  #pending: { resolve(answer: Answer): void; reject(error: Error): void } | undefined;

  constructor(socket: Socket) {
    this.#socket = socket.setNoDelay(true).setEncoding('latin1');
    socket.on('data', (chunk) => this.#receive(String(chunk)));
    socket.on('error', (error) => this.#pending?.reject(error));
    socket.on('close', () => this.#pending?.reject(new Error('a connection was closed without an answer')));
  }

  get isOpen(): boolean {
    return !this.#socket.destroyed && !this.#socket.readableEnded;
  }

  ask(wire: Buffer): Promise<Answer> {
    this.usedMs = performance.now();
    return new Promise((resolve, reject) => {
      const late = (): void => {
        this.#pending?.reject(new Error('an order was not answered in time'));
        // Its answer may still arrive, and would be taken for the next one's.
        this.#socket.destroy();
      };
      const timer = setTimeout(late, ANSWER_MS);
      const done = <T>(finish: (value: T) => void) => {
        return (value: T): void => {
          clearTimeout(timer);
          this.#pending = undefined;
          finish(value);
        };
      };
      this.#pending = { resolve: done(resolve), reject: done(reject) };
      if (this.#socket.destroyed) this.#pending.reject(new Error('a connection was closed'));
      else this.#socket.write(wire);
    });
  }

  #receive(chunk: string): void {
    this.#received += chunk;
    const headEnd = this.#received.indexOf('\r\n\r\n');
    if (headEnd < 0) return;
    const length = Number(/\r\ncontent-length: *(\d+)/i.exec(this.#received.slice(0, headEnd))?.[1] ?? Number.NaN);
    if (Number.isNaN(length)) {
      this.#pending?.reject(new Error('an answer does not say how long it is'));
      return;
    }
    if (this.#received.length < headEnd + 4 + length) return;
    const answer = {
      status: Number(this.#received.slice(9, 12)),
      body: this.#received.slice(headEnd + 4, headEnd + 4 + length),
    };
    this.#received = this.#received.slice(headEnd + 4 + length);
    this.#pending?.resolve(answer);
  }

  close(): void {
    this.#socket.destroy();
  }
}
