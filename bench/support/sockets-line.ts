import { connect, type Socket } from 'node:net';

const OPEN_MS = 120_000;
const TEXT = 1;
const CLOSE = 8;
const PING = 9;
/** Any 16 bytes in base64; only the status of the answer is checked. */
const KEY = 'c2FtZWRheS1iZW5jaG1hcg==';
/** One buffer for all sockets, as a read is processed before the next one begins. */
const readBuffer = Buffer.alloc(256 * 1024);

/** Milliseconds of a clock that all processes of a machine share (on Linux and macOS), with fractions. */
export const clockMs = (): number => Number(process.hrtime.bigint()) / 1e6;

export type LineEvents = {
  /** A text message, copied; `atMs` is when the bytes were read. */
  text(payload: Buffer, atMs: number): void;
  /** Not called for an end that this side requested. */
  ended(why: string): void;
};

/**
 * The bare client's end of a WebSocket: writes prepared frames as they are, so that the load is the server's
 * and not the client's. What it does not support (fragments, extensions) ends it with a reason.
 */
export class Line {
  readonly #socket: Socket;
  readonly #events: LineEvents;
  #opened: ((why: string | null) => void) | null;
  #rest: Buffer | null = null;
  #over = false;

  private constructor(port: number, path: string, events: LineEvents, opened: (why: string | null) => void) {
    this.#events = events;
    this.#opened = opened;
    const onread = { buffer: readBuffer, callback: (length: number) => this.#read(readBuffer.subarray(0, length)) };
    this.#socket = connect({ host: '127.0.0.1', port, noDelay: true, onread });
    this.#socket.on('error', (error) => this.#end(error.message));
    this.#socket.on('close', () => this.#end('the connection was closed'));
    const head = `GET ${path} HTTP/1.1\r\nHost: 127.0.0.1:${port}\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n`;
    this.#socket.write(`${head}Sec-WebSocket-Key: ${KEY}\r\nSec-WebSocket-Version: 13\r\n\r\n`);
  }

  /** Resolves once the server has accepted the upgrade. */
  static open(port: number, path: string, events: LineEvents): Promise<Line> {
    return new Promise((resolve, reject) => {
      const late = setTimeout(() => line.close(), OPEN_MS);
      const line: Line = new Line(port, path, events, (why) => {
        clearTimeout(late);
        if (why === null) resolve(line);
        else reject(new Error(`a socket did not open: ${why}`));
      });
    });
  }

  write(frames: Buffer): void {
    this.#socket.write(frames);
  }

  close(): void {
    if (this.#opened) this.#end('not in time');
    this.#over = true;
    this.#socket.destroy();
  }

  #end(why: string): void {
    if (this.#over) return;
    this.#over = true;
    this.#socket.destroy();
    if (this.#opened) this.#opened(why);
    else this.#events.ended(why);
    this.#opened = null;
  }

  #read(chunk: Buffer): boolean {
    const atMs = clockMs();
    let bytes = this.#rest ? Buffer.concat([this.#rest, chunk]) : chunk;
    if (this.#opened) bytes = this.#readAnswer(bytes);
    let at = 0;
    while (!this.#over && !this.#opened) {
      const end = frameEnd(bytes, at);
      if (end > bytes.length) break;
      this.#frame(bytes, at, end, atMs);
      at = end;
    }
    this.#rest = at < bytes.length ? Buffer.from(bytes.subarray(at)) : null;
    return true;
  }

  /** Reads the server's answer to the upgrade; returns the bytes after it. */
  #readAnswer(bytes: Buffer): Buffer {
    const end = bytes.indexOf('\r\n\r\n');
    if (end < 0) return bytes;
    const status = bytes.toString('latin1', 9, 12);
    if (status !== '101') this.#end(`the answer was ${status}`);
    this.#opened?.(null);
    this.#opened = null;
    return bytes.subarray(end + 4);
  }

  #frame(bytes: Buffer, at: number, end: number, atMs: number): void {
    const kind = (bytes[at] as number) & 0x0f;
    const payload = bytes.subarray(at + headLength(bytes, at), end);
    if (kind === TEXT) this.#events.text(Buffer.from(payload), atMs);
    else if (kind === PING) this.#socket.write(frameOf(payload, 0x8a));
    else if (kind === CLOSE) this.#end(`closed with ${payload.length > 1 ? payload.readUInt16BE(0) : 'no code'}`);
    else this.#end(`a frame of kind ${kind} came`);
  }
}

/** Frames of a server are not masked. */
function headLength(bytes: Buffer, at: number): number {
  const size = (bytes[at + 1] as number) & 0x7f;
  return size < 126 ? 2 : size === 126 ? 4 : 10;
}

/** The end of the frame that begins here; beyond the bytes where they are too few to tell. */
function frameEnd(bytes: Buffer, at: number): number {
  if (bytes.length < at + 2) return Number.POSITIVE_INFINITY;
  const head = headLength(bytes, at);
  if (bytes.length < at + head) return Number.POSITIVE_INFINITY;
  const size = (bytes[at + 1] as number) & 0x7f;
  if (size < 126) return at + head + size;
  return at + head + (size === 126 ? bytes.readUInt16BE(at + 2) : Number(bytes.readBigUInt64BE(at + 2)));
}

/** Bytes of a client's frame besides its payload. */
export function frameHead(payloadBytes: number): number {
  return payloadBytes < 126 ? 6 : 8;
}

/**
 * A client's frame of up to 64 KB. Its mask is zero, so that the payload is unchanged in it and can be edited
 * in place; the server unmasks it all the same.
 */
export function frameOf(payload: Buffer | string, first = 0x81): Buffer {
  const bytes = typeof payload === 'string' ? Buffer.from(payload) : payload;
  const head = frameHead(bytes.length);
  const frame = Buffer.alloc(head + bytes.length);
  frame[0] = first;
  if (head === 6) frame[1] = 0x80 | bytes.length;
  else {
    frame[1] = 0x80 | 126;
    frame.writeUInt16BE(bytes.length, 2);
  }
  bytes.copy(frame, head);
  return frame;
}
