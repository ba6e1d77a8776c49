import { createDecipheriv, createECDH, createPublicKey, hkdfSync, randomBytes, verify } from 'node:crypto';
import { createServer } from 'node:http';
import { buffer } from 'node:stream/consumers';
import { listen } from './listen.ts';

/** A push as it arrived at the vendor of a phone, opened as the phone would. */
export type ReceivedPush = {
  readonly path: string;
  readonly message: unknown;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
};

/** A phone's keys, and what they open (RFC 8291 and RFC 8188). */
export function newPushPhone() {
  const ecdh = createECDH('prime256v1');
  const publicKey = ecdh.generateKeys();
  const auth = randomBytes(16);

  function open(body: Buffer): string {
    const salt = body.subarray(0, 16);
    const sender = body.subarray(21, 21 + (body[20] ?? 0));
    const sealed = body.subarray(21 + sender.length);
    const about = Buffer.concat([Buffer.from('WebPush: info\0'), publicKey, sender]);
    const secret = Buffer.from(hkdfSync('sha256', ecdh.computeSecret(sender), auth, about, 32));
    const key = Buffer.from(hkdfSync('sha256', secret, salt, 'Content-Encoding: aes128gcm\0', 16));
    const nonce = Buffer.from(hkdfSync('sha256', secret, salt, 'Content-Encoding: nonce\0', 12));
    const decipher = createDecipheriv('aes-128-gcm', key, nonce).setAuthTag(sealed.subarray(-16));
    const padded = Buffer.concat([decipher.update(sealed.subarray(0, -16)), decipher.final()]);
    return padded.subarray(0, padded.lastIndexOf(2)).toString('utf8');
  }

  return { p256dh: publicKey.toString('base64url'), auth: auth.toString('base64url'), open };
}

export type PushPhone = ReturnType<typeof newPushPhone>;

/** What the header `Authorization` of a push claims, where the service's key signed it (RFC 8292); else null. */
export function claimsOf(authorization: unknown, publicKey: string): Record<string, unknown> | null {
  const [, head = '', claims = '', signature = '', key = ''] =
    /^vapid t=([\w-]+)\.([\w-]+)\.([\w-]+), k=([\w-]+)$/.exec(String(authorization)) ?? [];
  if (key !== publicKey) return null;
  const point = Buffer.from(key, 'base64url');
  const [x, y] = [point.subarray(1, 33), point.subarray(33)].map((each) => each.toString('base64url'));
  const jwk = createPublicKey({ key: { kty: 'EC', crv: 'P-256', x, y } as never, format: 'jwk' });
  const signed = Buffer.from(`${head}.${claims}`);
  const isGood = verify('sha256', signed, { key: jwk, dsaEncoding: 'ieee-p1363' }, Buffer.from(signature, 'base64url'));
  return isGood ? (JSON.parse(Buffer.from(claims, 'base64url').toString()) as Record<string, unknown>) : null;
}

/** The vendor of phones, on this machine: each phone has an address there, which can be ended. */
export async function startPushVendor() {
  const phones = new Map<string, PushPhone>();
  const received: ReceivedPush[] = [];
  const gone = new Set<string>();
  const server = createServer((request, response) => {
    void buffer(request).then((body) => {
      const path = request.url ?? '';
      const phone = phones.get(path);
      const isGone = !phone || gone.has(path);
      if (phone) received.push({ path, message: JSON.parse(phone.open(body)), headers: request.headers });
      response.writeHead(isGone ? 410 : 201).end();
    });
  });
  const { url, close } = await listen(server);
  return {
    received,
    close,
    /** A phone's subscription, as its browser makes it. */
    subscribe() {
      const phone = newPushPhone();
      const path = `/send/${phones.size + 1}`;
      phones.set(path, phone);
      return { path, body: { endpoint: url + path, keys: { p256dh: phone.p256dh, auth: phone.auth } } };
    },
    /** The phone is not reached under this address any more. */
    end: (path: string) => void gone.add(path),
  };
}

export type PushVendor = Awaited<ReturnType<typeof startPushVendor>>;
