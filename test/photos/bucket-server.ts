import { createHash, createHmac, timingSafeEqual } from 'node:crypto';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

/**
 * How the server treats requests. `silent` never answers, `unreadable` no GET; `halting` stops in the middle of a
 * photo.
 */
export type BucketMode = 'up' | 'unavailable' | 'silent' | 'unreadable' | 'halting';

type StoredObject = { readonly bytes: Buffer; readonly contentType: string | undefined };
type Refusal = { readonly status: number; readonly code: string };
type Received = { readonly request: IncomingMessage; readonly url: URL; readonly body: Buffer };

export type BucketServer = {
  readonly url: string;
  /** Objects by key. */
  readonly objects: Map<string, StoredObject>;
  /** `PUT /bucket/key` and so on, in the order of arrival. */
  readonly requests: string[];
  become(mode: BucketMode): void;
  /** Number of coming requests that are answered with 503. */
  failNext(requests: number): void;
  close(): Promise<void>;
};

export type BucketAccount = {
  readonly bucket: string;
  readonly region: string;
  readonly accessKeyId: string;
  readonly secretAccessKey: string;
  /** Whether the key may list the bucket; without it nobody says what is absent. */
  readonly mayList?: boolean;
  /** Whether the key may read objects; true by default. */
  readonly mayRead?: boolean;
};

const MAX_CLOCK_DIFFERENCE_MS = 15 * 60_000;

/**
 * One bucket behind Amazon S3's HTTP API in path style: PUT, GET, HEAD and DELETE of objects, and HEAD of it. It is as
 * strict as the strictest store: it verifies every request's Signature V4 and its body's SHA-256, has ACLs
 * turned off (any `x-amz-acl` is refused) and knows no other checksums.
 */
export async function startBucketServer(account: BucketAccount, port = 0): Promise<BucketServer> {
  const objects = new Map<string, StoredObject>();
  const requests: string[] = [];
  let mode: BucketMode = 'up';
  let failures = 0;

  async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    requests.push(`${request.method} ${request.url}`);
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk as Buffer);
    if (mode === 'silent' || (mode === 'unreadable' && request.method === 'GET')) return;
    const received = { request, url: new URL(request.url ?? '', 'http://bucket'), body: Buffer.concat(chunks) };
    const refusal = mode === 'unavailable' || failures-- > 0 ? BUSY : refusalOf(account, received);
    if (refusal) refuse(response, refusal);
    else serve(received, response, objects, account, mode === 'halting');
  }
  // A client that gives up in the middle of its upload gets no answer.
  const server = createServer((request, response) => void answer(request, response).catch(() => response.destroy()));
  await new Promise<void>((listening, failed) => {
    server.once('error', failed);
    server.listen(port, '127.0.0.1', listening);
  });
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    objects,
    requests,
    become(next) {
      mode = next;
    },
    failNext(count) {
      failures = count;
    },
    close: () =>
      new Promise((closed) => {
        server.close(() => closed());
        server.closeAllConnections();
      }),
  };
}

const BUSY: Refusal = { status: 503, code: 'ServiceUnavailable' };

function refusalOf(account: BucketAccount, received: Received): Refusal | null {
  const { headers } = received.request;
  const signature = signatureRefusal(account, received);
  if (signature) return signature;
  if (headers['x-amz-acl'] !== undefined) return { status: 400, code: 'AccessControlListNotSupported' };
  const checksums = Object.keys(headers).some((name) => /^x-amz-(checksum-|sdk-checksum-|trailer)/.test(name));
  if (checksums || headers['transfer-encoding'] !== undefined) return { status: 501, code: 'NotImplemented' };
  return null;
}

function serve(
  { request, url, body }: Received,
  response: ServerResponse,
  objects: Map<string, StoredObject>,
  account: BucketAccount,
  halting: boolean,
): void {
  const [, bucket, ...rest] = decodeURIComponent(url.pathname).split('/');
  const key = rest.join('/');
  if (bucket !== account.bucket) return void refuse(response, { status: 404, code: 'NoSuchBucket' });
  const denied = { status: 403, code: 'AccessDenied' };
  if (key === '' && request.method === 'HEAD') return void response.writeHead(account.mayList ? 200 : 403).end();
  if (key === '') return void refuse(response, { status: 501, code: 'NotImplemented' });
  if (request.method === 'PUT') {
    objects.set(key, { bytes: body, contentType: request.headers['content-type'] });
    const etag = `"${createHash('md5').update(body).digest('hex')}"`;
    return void response.writeHead(200, { etag }).end();
  }
  if (request.method === 'DELETE') {
    objects.delete(key);
    return void response.writeHead(204).end();
  }
  const object = objects.get(key);
  if (account.mayRead === false) return void refuse(response, denied);
  if (!object) return void refuse(response, account.mayList ? { status: 404, code: 'NoSuchKey' } : denied);
  response.writeHead(200, {
    'content-length': object.bytes.length,
    ...(object.contentType ? { 'content-type': object.contentType } : {}),
  });
  if (halting) return void response.write(object.bytes.subarray(0, object.bytes.length / 2));
  response.end(request.method === 'HEAD' ? undefined : object.bytes);
}

function refuse(response: ServerResponse, { status, code }: Refusal): void {
  response.writeHead(status, { 'content-type': 'application/xml' });
  response.end(`<?xml version="1.0" encoding="UTF-8"?>\n<Error><Code>${code}</Code><Message>No.</Message></Error>`);
}

/** Signature Version 4 in a header (Amazon S3 API reference, "Authenticating requests"). */
function signatureRefusal(account: BucketAccount, { request, url, body }: Received): Refusal | null {
  const { headers } = request;
  const parts = AUTHORIZATION.exec(headers.authorization ?? '')?.groups;
  if (!parts) return { status: 403, code: 'AccessDenied' };
  const { key = '', scope = '', signed = '', signature = '' } = parts;
  if (key !== account.accessKeyId) return { status: 403, code: 'InvalidAccessKeyId' };

  const time = String(headers['x-amz-date']);
  const [, year, month, day, hour, minute, second] = /^(\d{4})(\d\d)(\d\d)T(\d\d)(\d\d)(\d\d)Z$/.exec(time) ?? [];
  const sentMs = Date.parse(`${year}-${month}-${day}T${hour}:${minute}:${second}Z`);
  if (!(Math.abs(Date.now() - sentMs) <= MAX_CLOCK_DIFFERENCE_MS)) return { status: 403, code: 'RequestTimeTooSkewed' };
  const date = time.slice(0, 8);
  if (scope !== `${date}/${account.region}/s3/aws4_request`) {
    return { status: 400, code: 'AuthorizationHeaderMalformed' };
  }

  const names = signed.split(';');
  const mustSign = Object.keys(headers).filter((name) => name === 'host' || name.startsWith('x-amz-'));
  const bodyHash = String(headers['x-amz-content-sha256']);
  if (!mustSign.every((name) => names.includes(name)) || !names.includes('x-amz-content-sha256')) {
    return { status: 403, code: 'AccessDenied' };
  }
  const canonical = [
    request.method,
    url.pathname,
    url.search.slice(1).split('&').sort().join('&'),
    ...names.map((name) => `${name}:${String(headers[name]).trim().replace(/ +/g, ' ')}`),
    '',
    signed,
    bodyHash,
  ].join('\n');
  const toSign = ['AWS4-HMAC-SHA256', time, scope, sha256(canonical)].join('\n');
  const signingKey = [date, account.region, 's3', 'aws4_request'].reduce<string | Buffer>(
    (secret, text) => hmac(secret, text),
    `AWS4${account.secretAccessKey}`,
  );
  if (!timingSafeEqual(hmac(signingKey, toSign), Buffer.from(signature, 'hex'))) {
    return { status: 403, code: 'SignatureDoesNotMatch' };
  }
  return bodyHash === sha256(body) ? null : { status: 400, code: 'XAmzContentSHA256Mismatch' };
}

const AUTHORIZATION =
  /^AWS4-HMAC-SHA256 Credential=(?<key>[^/]+)\/(?<scope>[^,]+), ?SignedHeaders=(?<signed>[^,]+), ?Signature=(?<signature>[0-9a-f]{64})$/;

const sha256 = (data: string | Buffer): string => createHash('sha256').update(data).digest('hex');
const hmac = (key: string | Buffer, text: string): Buffer => createHmac('sha256', key).update(text).digest();
