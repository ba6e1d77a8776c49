import uWS, { type TemplatedApp, type us_listen_socket } from 'uWebSockets.js';
import { accessSync, constants } from 'node:fs';
import { toBytes } from './bytes.ts';

export type TlsFiles = { readonly certFile: string; readonly keyFile: string };

/**
 * uWebSockets.js, before anything is mounted on it. It exists before the routes and sockets, so that what
 * publishes to sockets is constructed with it; `createServer` mounts them.
 */
export class Transport {
  /** For this folder alone. */
  readonly app: TemplatedApp;
  #listening: us_listen_socket | null = null;
  #isClosed = false;

  constructor(app: TemplatedApp) {
    this.app = app;
  }

  /** Sends a text message to every socket that subscribed to `topic`; readers too slow for it are dropped. */
  publish(topic: string, text: string): void {
    if (!this.#isClosed) this.app.publish(toBytes(topic), toBytes(text), false);
  }

  /** Listens on this address alone and gives the port; 0 takes any free one. Throws where it cannot. */
  listen(host: string, port: number): number {
    this.#listening = listenExclusively(this.app, host, port);
    return uWS.us_socket_local_port(this.#listening);
  }

  /** Takes no new connections; open ones stay. */
  stopListening(): void {
    if (this.#listening) uWS.us_listen_socket_close(this.#listening);
    this.#listening = null;
  }

  /** Closes every connection. Harmless twice. */
  close(): void {
    if (this.#isClosed) return;
    this.stopListening();
    this.#isClosed = true;
    this.app.close();
  }
}

/** Throws where a file of `tls` cannot be read. */
export function openTransport(tls?: TlsFiles): Transport {
  if (!tls) return new Transport(uWS.App());
  // uWebSockets.js does not say which file it could not read.
  for (const file of [tls.certFile, tls.keyFile]) accessSync(file, constants.R_OK);
  return new Transport(uWS.SSLApp({ cert_file_name: toBytes(tls.certFile), key_file_name: toBytes(tls.keyFile) }));
}

/** `listen` takes host, port and option together; its types know only two of them at a time. */
type Listen = (host: string, port: number, option: number, done: (socket: us_listen_socket | false) => void) => void;

/** There at run time under this name, but not in the types. */
const EXCLUSIVE_PORT = (uWS as unknown as { readonly LIBUS_LISTEN_EXCLUSIVE_PORT: number }).LIBUS_LISTEN_EXCLUSIVE_PORT;

/** Without the option, two services could listen on one port and answer in turn. */
function listenExclusively(app: TemplatedApp, host: string, port: number): us_listen_socket {
  const sockets: us_listen_socket[] = [];
  (app.listen.bind(app) as unknown as Listen)(host, port, EXCLUSIVE_PORT, (socket) => {
    if (socket) sockets.push(socket);
  });
  const [socket] = sockets;
  if (socket) return socket;
  const root = port > 0 && port < 1_024 ? ', or a port below 1024 is for root alone' : '';
  throw new Error(
    `Cannot listen on ${host}:${port}: the port is taken, or the address is not one of this machine${root}`,
  );
}
