import { AUTHORITY_UNREADABLE } from '../postgres/read-url.ts';

/** What an operator does about an error of the database or of Redis, by its code. */
const DATABASE: Readonly<Record<string, readonly string[]>> = {
  'The host of DATABASE_URL is not known. Correct its name.': ['ENOTFOUND', 'EAI_AGAIN'],
  'Nothing listens at the address of DATABASE_URL. Start Postgres, or correct host and port.': ['ECONNREFUSED'],
  'The database of DATABASE_URL does not answer, or is a standby. Look at its host, port and firewall.': [
    'CONNECT_TIMEOUT',
    'ETIMEDOUT',
    'EHOSTUNREACH',
    'ENETUNREACH',
    'DEADLINE_UNSENT',
    'DEADLINE_SENT',
    'CONNECTION_CLOSED',
    'CONNECTION_DESTROYED',
    'ECONNRESET',
  ],
  'Postgres refuses the user or the password of DATABASE_URL. Correct them, or pg_hba.conf.': [
    '28P01',
    '28000',
    'SASL_SIGNATURE_MISMATCH',
    'AUTH_TYPE_NOT_IMPLEMENTED',
  ],
  'There is no database of the name in DATABASE_URL. Make it with createdb, or correct the name.': ['3D000'],
  'The user of DATABASE_URL may not do that. Make it the owner of the database and its tables.': ['42501'],
  'Postgres has no connection left for this one. Raise max_connections, or end other clients.': ['53300'],
  'The disk of Postgres is full. Make room.': ['53100'],
  'Postgres is starting or stopping. Try again in a moment.': ['57P03'],
  'The file of sslrootcert in DATABASE_URL cannot be read. Correct its path or its rights.': [AUTHORITY_UNREADABLE],
  'The certificate of Postgres is not trusted. Name the file of its authority as sslrootcert in DATABASE_URL.': [
    'DEPTH_ZERO_SELF_SIGNED_CERT',
    'SELF_SIGNED_CERT_IN_CHAIN',
    'UNABLE_TO_VERIFY_LEAF_SIGNATURE',
    'UNABLE_TO_GET_ISSUER_CERT_LOCALLY',
    'CERT_HAS_EXPIRED',
    'ERR_TLS_CERT_ALTNAME_INVALID',
  ],
  'The schema is not that of this version. Start the service of this version once; it changes the tables.': [
    '42P01',
    '42703',
    '42883',
  ],
};

const REDIS: Readonly<Record<string, readonly string[]>> = {
  'The host of REDIS_URL is not known. Correct its name.': ['ENOTFOUND', 'EAI_AGAIN'],
  'Nothing listens at the address of REDIS_URL. Start Redis, or correct host and port.': ['ECONNREFUSED'],
  'Redis refuses the user or the password of REDIS_URL. Correct them.': ['WRONGPASS', 'NOAUTH'],
  'The user of REDIS_URL may not call what the queues need, such as INFO. Grant it.': ['NOPERM'],
  'Redis does not answer. Look at the host, port and firewall of REDIS_URL.': ['ETIMEDOUT', 'EHOSTUNREACH'],
};

const byCode = (sentences: Readonly<Record<string, readonly string[]>>): ReadonlyMap<string, string> =>
  new Map(Object.entries(sentences).flatMap(([words, codes]) => codes.map((code) => [code, words])));
const OF_DATABASE = byCode(DATABASE);
const OF_REDIS = byCode(REDIS);

/** A sentence for the operator, with the code; null for an error of which nothing is known. */
export function databaseRemedy(error: unknown): string | null {
  return remedy(OF_DATABASE, codeOf(error));
}

/** The same of Redis, whose own errors begin with their code. */
export function redisRemedy(error: unknown): string | null {
  return remedy(OF_REDIS, redisCode(error));
}

/** The code of an error of Redis or of the way to it. */
export function redisCode(error: unknown): string | undefined {
  const own = error instanceof Error ? /^[A-Z]{4,}(?= )/.exec(error.message)?.[0] : undefined;
  return codeOf(error) ?? own;
}

function remedy(sentences: ReadonlyMap<string, string>, code: string | undefined): string | null {
  const words = code === undefined ? undefined : sentences.get(code);
  return words === undefined ? null : `${words} (${code})`;
}

/** The code of an error, or of the one that caused it. */
function codeOf(error: unknown): string | undefined {
  if (!(error instanceof Error)) return undefined;
  const { code } = error as { code?: unknown };
  return typeof code === 'string' ? code : codeOf(error.cause);
}
