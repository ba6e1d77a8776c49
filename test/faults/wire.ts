import { execFileSync } from 'node:child_process';
import { connect, type Socket } from 'node:net';

/** A reply as read from the wire. */
export type Answer = {
  readonly status: number;
  readonly requestId: string;
  readonly body: string;
  /** Whether the server announced that it closes the connection. */
  readonly isLast: boolean;
};

/** The address of a service. */
export function addressOf(url: string): { readonly host: string; readonly port: number } {
  const { hostname, port } = new URL(url);
  return { host: hostname, port: Number(port) };
}

/** Resident memory of a process in megabytes. */
export function residentMegabytes(pid: number): number {
  return Number(execFileSync('ps', ['-o', 'rss=', '-p', String(pid)])) / 1024;
}

/** The first whole reply in the bytes and the rest; null where it is incomplete or malformed. */
export function readAnswer(bytes: Buffer): { readonly answer: Answer; readonly rest: Buffer } | null {
  const end = bytes.indexOf('\r\n\r\n');
  if (end < 0) return null;
  const head = bytes.toString('latin1', 0, end);
  const status = Number(/^HTTP\/1\.1 (\d{3}) /.exec(head)?.[1]);
  const length = Number(/\r\ncontent-length: (\d+)/i.exec(head)?.[1] ?? 0);
  if (bytes.length < end + 4 + length) return null;
  const requestId = /\r\nx-request-id: (\S+)/i.exec(head)?.[1] ?? '';
  const rest = bytes.subarray(end + 4 + length);
  if (status === 100) return readAnswer(rest);
  const isLast = /\r\nconnection: close/i.test(head);
  return { answer: { status, requestId, body: bytes.toString('utf8', end + 4, end + 4 + length), isLast }, rest };
}

/** Every whole reply in the bytes. */
export function readAnswers(bytes: Buffer): Answer[] {
  const answers: Answer[] = [];
  for (let read = readAnswer(bytes); read; read = readAnswer(read.rest)) answers.push(read.answer);
  return answers;
}

/** One kept connection with one request at a time, opened anew where it was closed in between. */
export class KeptConnection {
  readonly #address: ReturnType<typeof addressOf>;
  #socket: Socket | null = null;
  #received: Buffer = Buffer.alloc(0);
  #resolve: (answer: Answer | null) => void = () => {};

  constructor(url: string) {
    this.#address = addressOf(url);
  }

  /** The answer to a request; null where the connection ended without one. */
  ask(request: Buffer): Promise<Answer | null> {
    return new Promise((resolve) => {
      this.#resolve = resolve;
      this.#socket ??= this.#open();
      this.#socket.write(request);
    });
  }

  close(): void {
    this.#socket?.destroy();
    this.#socket = null;
  }

  #open(): Socket {
    const socket = connect({ ...this.#address, noDelay: true });
    this.#received = Buffer.alloc(0);
    socket.on('data', (chunk) => this.#hear(chunk));
    socket.on('error', () => undefined);
    socket.on('close', () => {
      if (this.#socket !== socket) return;
      this.#socket = null;
      this.#resolve(null);
    });
    return socket;
  }

  #hear(chunk: Buffer): void {
    this.#received = this.#received.length === 0 ? chunk : Buffer.concat([this.#received, chunk]);
    const read = readAnswer(this.#received);
    if (!read) return;
    this.#received = read.rest;
    if (read.answer.isLast) this.close();
    this.#resolve(read.answer);
  }
}

/** A whole request with a JSON body. */
export function jsonPost(path: string, apiKey: string, body: Buffer, headers = ''): Buffer {
  const head = `POST ${path} HTTP/1.1\r\nHost: faults\r\nAuthorization: Bearer ${apiKey}\r\nContent-Type: application/json\r\n`;
  return Buffer.concat([Buffer.from(`${head}${headers}Content-Length: ${body.length}\r\n\r\n`, 'latin1'), body]);
}
