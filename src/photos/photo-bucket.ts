import type { Readable } from 'node:stream';
import { HeadBucketCommand, S3Client } from '@aws-sdk/client-s3';
import { AwsS3StorageAdapter } from '@flystorage/aws-s3';
import { FileStorage } from '@flystorage/file-storage';
import { atMost, MAX_PHOTO_BYTES } from '../limits.ts';
import { MAX_PHOTO_READS } from './photo-reads.ts';
import { type PhotoStorage, PhotoStorageError, photoPath } from './photo-storage.ts';

/** Most attempts of a request to the bucket: a second one where a connection broke or it was busy. */
const PHOTO_BUCKET_ATTEMPTS = 2;
/**
 * Connections to the bucket, each of which carries one photo at a time. At least twice MAX_PHOTO_READS: the SDK counts
 * the wait for one as silence of the bucket, and no delivery ends without its upload.
 */
export const PHOTO_BUCKET_SOCKETS = 32;

atMost({ '2 × MAX_PHOTO_READS': 2 * MAX_PHOTO_READS }, { PHOTO_BUCKET_SOCKETS });

export type BucketSettings = {
  readonly bucket: string;
  readonly region: string;
  /** A store other than Amazon's, addressed in path style (`endpoint/bucket/key`). */
  readonly endpoint: string | null;
  readonly accessKeyId: string;
  readonly secretAccessKey: string;
  /** Prefix of every name, without slashes at its ends; empty for none. */
  readonly prefix: string;
  /** Longest silence of the bucket: until a connection is made, and then between two packets. */
  readonly silenceMs: number;
  /** Longest operation, a second attempt included. */
  readonly deadlineMs: number;
};

/**
 * A failed operation of the bucket. `code` is S3's (`SignatureDoesNotMatch`, `NoSuchBucket`), Node's
 * (`ECONNREFUSED`) or the time-out's (`TimeoutError`, `AbortError`). The SDK's own error is dropped, since it
 * quotes the key and what was signed.
 */
export class PhotoBucketError extends PhotoStorageError {
  constructor(code: string) {
    super(code);
    this.message = `the photo bucket failed: ${code}`;
    this.name = 'PhotoBucketError';
  }
}

/**
 * Keeps photos in a bucket of Amazon S3 or of a store that speaks its protocol. Every photo is one PUT, so it
 * is stored whole or not at all. No ACL is sent: objects are private by default, and buckets without ACLs,
 * the default since 2023, refuse a request that names one.
 */
export function createBucketPhotoStorage(settings: BucketSettings): PhotoStorage & { close(): void } {
  const client = connect(settings);
  const adapter = new AwsS3StorageAdapter(client, {
    bucket: settings.bucket,
    prefix: settings.prefix,
    // Never in parts, as a failure could leave some behind.
    uploadConfiguration: { partSize: MAX_PHOTO_BYTES, queueSize: 1 },
  });
  const storage = new FileStorage(adapter, undefined, { timeout: { timeout: settings.deadlineMs } });
  return {
    async put(name, jpeg) {
      const path = photoPath(name);
      await storage.write(path, jpeg, { mimeType: 'image/jpeg', size: jpeg.length }).catch(fail);
    },
    async get(name) {
      const path = photoPath(name);
      try {
        return await readAll(await storage.read(path));
      } catch (error) {
        return codeOf(error) === 'AccessDenied' && !(await mayList(client, settings.bucket))
          ? null
          : nullIfAbsent(error);
      }
    },
    async remove(name) {
      const path = photoPath(name);
      // Amazon answers the same for a missing object; other stores do not.
      await storage.deleteFile(path).catch(nullIfAbsent);
    },
    close: () => client.destroy(),
  };
}

function connect({ region, endpoint, accessKeyId, secretAccessKey, silenceMs, deadlineMs }: BucketSettings): S3Client {
  const agent = { maxSockets: PHOTO_BUCKET_SOCKETS };
  return new S3Client({
    region,
    ...(endpoint === null ? {} : { endpoint, forcePathStyle: true }),
    credentials: { accessKeyId, secretAccessKey },
    maxAttempts: PHOTO_BUCKET_ATTEMPTS,
    retryMode: 'standard',
    // Other stores refuse the SDK's checksums, and the signature covers the photo's SHA-256 anyway.
    requestChecksumCalculation: 'WHEN_REQUIRED',
    responseChecksumValidation: 'WHEN_REQUIRED',
    // Otherwise a large photo waits for "100 Continue", for 6 s and on a connection of its own.
    expectContinueHeader: false,
    requestHandler: {
      connectionTimeout: silenceMs,
      socketTimeout: silenceMs,
      // Ends an upload past its deadline, which flystorage does not pass on.
      requestTimeout: deadlineMs,
      throwOnRequestTimeout: true,
      httpAgent: agent,
      httpsAgent: agent,
    },
  });
}

async function readAll(stream: Readable): Promise<Buffer> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of stream as AsyncIterable<Buffer>) {
    bytes += chunk.length;
    if (bytes > MAX_PHOTO_BYTES) throw new PhotoBucketError('TooLarge');
    chunks.push(chunk);
  }
  return Buffer.concat(chunks);
}

/**
 * Whether the key may list the bucket. To one that may not, Amazon says AccessDenied of an absent object as of a
 * forbidden one; it has the right to read, so it is absent.
 */
async function mayList(client: S3Client, bucket: string): Promise<boolean> {
  try {
    await client.send(new HeadBucketCommand({ Bucket: bucket }));
    return true;
  } catch (error) {
    const { $metadata: reply } = error as { $metadata?: { httpStatusCode?: number } };
    return reply?.httpStatusCode === 403 ? false : fail(error);
  }
}

/** Only the code counts, as a 404 may also mean a wrong bucket or a wrong server. */
function nullIfAbsent(error: unknown): null {
  return codeOf(error) === 'NoSuchKey' ? null : fail(error);
}

function fail(error: unknown): never {
  throw new PhotoBucketError(codeOf(error));
}

/** The code of the SDK's error, which flystorage wraps. */
function codeOf(error: unknown): string {
  let inner = error;
  while (inner instanceof Error && inner.cause instanceof Error) inner = inner.cause;
  if (!(inner instanceof Error)) return 'Unknown';
  const { code } = inner as { code?: unknown };
  const found = typeof code === 'string' ? code : inner.name;
  // S3's codes come over the network, so their form is checked.
  return /^\w{1,64}$/.test(found) ? found : 'Unknown';
}
