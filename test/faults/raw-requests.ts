import type { Random } from '../harness/world.ts';
import { any, below } from './row.ts';

/** The parts of a request of the grammar. */
type Parts = {
  /** Host, key and type. */
  readonly head: string;
  /**
   * A whole valid request that must never be accepted: it hides in another one's body, or behind a refused
   * one.
   */
  readonly canary: string;
  readonly random: Random;
};
type Shape = (parts: Parts) => string;

const CREATE = 'POST /orders/create HTTP/1.1\r\n';
const GET = 'GET /orders/x HTTP/1.1\r\n';

/** A header besides valid ones, and the canary behind an empty object. */
const withHeader =
  (...headers: readonly string[]): Shape =>
  ({ head, canary, random }) =>
    `${CREATE}${head}${any(headers, random)}\r\nContent-Length: 2\r\n\r\n{}${canary}`;

/** Headers with a length, none of them valid. */
const withLength =
  (...lengths: readonly string[]): Shape =>
  ({ head, canary, random }) =>
    `${CREATE}${head}${any(lengths, random).replaceAll('N', String(canary.length))}\r\n\r\n{}${canary}`;

/** A request line before valid headers. */
const withLine =
  (...lines: readonly string[]): Shape =>
  ({ head, canary, random }) =>
    `${any(lines, random)}\r\n${head}\r\n${canary}`;

const inChunks =
  (...bodies: readonly string[]): Shape =>
  ({ head, canary, random }) =>
    `${CREATE}${head}Transfer-Encoding: ${any(['chunked', 'Chunked', ' chunked '], random)}\r\n\r\n${any(bodies, random)}${canary}`;

/** Well-formed; the canary is the body of a request without one, or another request. */
const asBody =
  (...starts: readonly string[]): Shape =>
  ({ head, canary, random }) =>
    `${any(starts, random)} HTTP/1.1\r\n${head}Content-Length: ${canary.length}\r\n\r\n${canary}`;

const chunk = (text: string): string => `${text.length.toString(16)}\r\n${text}\r\n`;

export const SHAPES: readonly Shape[] = [
  withLength(
    'Content-Length: 0\r\nContent-Length: N',
    'Content-Length: N\r\nContent-Length: 0',
    'Content-Length: 2\r\nContent-Length: 2',
  ),
  withLength(
    'Content-Length: 2, 2',
    'Content-Length: 0x2',
    'Content-Length: +2',
    'Content-Length: -2',
    'Content-Length: 2 2',
    'Content-Length: 1e1',
  ),
  withLength(
    'Content-Length:',
    'Content-Length: 99999999999999999999',
    'Content-Length: 18446744073709551618',
    'Content-Length: 4294967298',
  ),
  withLength('Content-Length : 2', 'Content-Length\t: 2', 'Content_Length: 2', 'Content-Length;: 2', 'X-Nothing: 1'),
  withLength(
    'Transfer-Encoding: chunked\r\nContent-Length: 2',
    'Content-Length: 2\r\nTransfer-Encoding: chunked',
    'Transfer-Encoding: identity\r\nContent-Length: 2',
  ),
  withLength(
    'Transfer-Encoding: xchunked',
    'Transfer-Encoding: gzip, chunked',
    'Transfer-Encoding: chunked, identity',
    'Transfer-Encoding:',
    'Transfer-Encoding: "chunked"',
  ),
  withLength(
    'Transfer-Encoding : chunked',
    'Transfer-Encoding:\x0bchunked',
    'Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked',
    'X: a\r\n Transfer-Encoding: chunked',
  ),
  withHeader(
    'X: a\r\n b',
    'X: a\r\n\tb',
    'X: a\nY: b',
    'X: a\rY: b',
    'X: a\0b',
    'X\0: a',
    'X y: a',
    'no colon',
    ' X: a',
  ),
  withHeader(
    'Authorization: Bearer other',
    'Host: other',
    'Content-Type: text/plain',
    'Idempotency-Key: a\r\nIdempotency-Key: b',
  ),
  ({ head, canary }) => `${CREATE}${head}: x\r\nContent-Length: 2\r\n\r\n{}${canary}`,
  ({ head, canary, random }) =>
    `${CREATE}${head}${'X: a\r\n'.repeat(97 + below(random, 500))}Content-Length: 2\r\n\r\n{}${canary}`,
  ({ head, canary, random }) => `${GET}${head}X: ${'a'.repeat(70_000 + below(random, 200_000))}\r\n\r\n${canary}`,
  withLine(
    'GET /orders/x HTTP/1.0',
    'GET /orders/x HTTP/1.2',
    'GET /orders/x HTTP/2.0',
    'GET /orders/x http/1.1',
    'GET /orders/x',
    'GET /orders/x HTTP/1.1 ',
  ),
  withLine(
    'GET http://faults/orders/x HTTP/1.1',
    'GET https://other/ HTTP/1.1',
    'CONNECT other:443 HTTP/1.1',
    'OPTIONS * HTTP/1.1',
    'GET ftp://x HTTP/1.1',
  ),
  withLine(
    'GET /orders/%zz HTTP/1.1',
    'GET /orders/%00 HTTP/1.1',
    'GET /orders/%ff HTTP/1.1',
    'GET /orders/\xe9 HTTP/1.1',
    'GET /orders/x#y HTTP/1.1',
    'GET /orders?a=%c0%80 HTTP/1.1',
  ),
  withLine(
    'GET  /orders/x HTTP/1.1',
    'GET\t/orders/x\tHTTP/1.1',
    ' GET /orders/x HTTP/1.1',
    'GET /orders/x y HTTP/1.1',
    'GET /orders/x\0 HTTP/1.1',
    '\r\nGET /orders/x HTTP/1.1',
  ),
  // Longer than an address may be.
  ({ head, canary, random }) =>
    `GET /orders/${'a'.repeat(3_600 + below(random, 60_000))} HTTP/1.1\r\n${head}\r\n${canary}`,
  ({ canary }) => `${GET}Authorization: Bearer x\r\n\r\n${canary}`,
  ({ head, canary }) => `GET /orders/x HTTP/1.1\n${head.replaceAll('\r', '')}\n${canary}`,
  ({ canary }) => `PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n${canary}`,
  ({ canary, random }) => `\x16\x03\x01\x00\xa5\x01\x00\x00\xa1\x03\x03${noise(161, random)}${canary}`,
  inChunks(
    '2\r\n{}XX0\r\n\r\n',
    '2\n{}\r\n0\r\n\r\n',
    '2\n{}\n0\n\n',
    '2\r\n{}}}\r\n0\r\n\r\n',
    '2\r\n{}\r\n0\r\nX: y\r\n\r\n',
    '2\r\n{}\r\n00\r\n\r\n',
  ),
  inChunks(
    '-2\r\n{}\r\n0\r\n\r\n',
    '0x2\r\n{}\r\n0\r\n\r\n',
    'G\r\n{}\r\n0\r\n\r\n',
    '10000000000000002\r\n{}\r\n0\r\n\r\n',
    '\r\n{}\r\n0\r\n\r\n',
    '2 \r\n{}\r\n0\r\n\r\n',
  ),
  inChunks(
    '2;a=b\r\n{}\r\n0\r\n\r\n',
    `2;${'a'.repeat(20_000)}\r\n{}\r\n0\r\n\r\n`,
    'fffffffe\r\n{}\r\n',
    '100000002\r\n{}\r\n',
    '2\r\n{}\r\n0\r\nContent-Length: 9\r\n\r\n',
  ),
  asBody(
    'POST /orders/create',
    'GET /orders/x',
    'POST /nothing',
    'PUT /orders/create',
    'GET /healthz',
    'POST /driver/location',
    'post /orders/create',
  ),
  ({ head, canary }) => `${CREATE}${head}Transfer-Encoding: chunked\r\n\r\n${chunk(canary)}0\r\n\r\n`,
  ({ head, canary }) => `${GET}${head}Transfer-Encoding: chunked\r\n\r\n${chunk(canary)}0\r\n\r\n`,
  ({ canary }) => `${CREATE}Host: x\r\nContent-Length: ${canary.length}\r\n\r\n${canary}`,
  ({ random }) => noise(1 + below(random, 5_000), random),
  ({ canary, random }) => `${noise(1 + below(random, 60), random)}\r\n\r\n${canary}`,
  // One bit in the head of a request whose body is a canary in quotes.
  ({ head, canary, random }) =>
    `${flipped(`${CREATE}${head}Content-Length: ${canary.length + 2}\r\n\r\n`, random)}"${canary}"`,
  ({ head, random }) => `${CREATE}${head}`.slice(0, below(random, 60)),
];

function noise(length: number, random: Random): string {
  return Buffer.from(Array.from({ length }, () => below(random, 256))).toString('latin1');
}

function flipped(text: string, random: Random): string {
  const bytes = Buffer.from(text, 'latin1');
  const at = below(random, bytes.length);
  bytes[at] = (bytes[at] as number) ^ (1 << below(random, 8));
  return bytes.toString('latin1');
}
