import { resolve } from 'node:path';
import {
  atMost,
  below,
  DEFAULT_UNPAID_ORDERS_ALLOWED,
  MAX_SIMULATED_DRIVERS,
  MAX_STORE_RATE,
  MAX_UNPAID_ORDERS_ALLOWED,
  REQUEST_DEADLINE_MS,
  VENDOR_SOCKETS,
} from './limits.ts';
import { urlsOfHosts } from './postgres/hosts.ts';
import { isPublicGeocoder } from './vendors/geocoder.ts';
import { isCountry } from './vendors/sms-countries.ts';

/** Time from an order to its text, in seconds. An order cancelled within it is not texted. */
const DEFAULT_SMS_DELAY_SECONDS = 5;
/** Longest such time that may be set, in seconds. At least DEFAULT_SMS_DELAY_SECONDS. */
const MAX_SMS_DELAY_SECONDS = 60;
/** Texts to one phone a day (UTC): above what one customer orders, below what troubles the phone's owner. */
const DEFAULT_SMS_PER_PHONE = 20;
/** Texts for one store a day (UTC). Above DEFAULT_SMS_PER_PHONE. */
const DEFAULT_SMS_PER_STORE = 5_000;
/** Highest bounds of texts a day that may be set. At least DEFAULT_SMS_PER_STORE. */
const MAX_SMS_PER_DAY = 1_000_000;
/** Time for which a reply waits for its charge by default. */
const DEFAULT_PAYMENT_WAIT_MS = 3_000;
/** Longest time for which a reply may be set to wait for its charge. Below REQUEST_DEADLINE_MS. */
const MAX_PAYMENT_WAIT_MS = 10_000;
/** Orders a second that a store may create by default. Two cores sustain a few hundred for all stores. */
const DEFAULT_STORE_RATE = 50;
/** Reads a second that a store may make by default. One that asks for every new order again has half of it. */
const DEFAULT_READ_RATE = 100;
/** Orders that a driver may give back within an hour by default; then they have to wait. */
const DEFAULT_RELEASES_PER_HOUR = 10;
/** Most releases within an hour that a driver may be allowed. Above DEFAULT_RELEASES_PER_HOUR. */
const MAX_RELEASES_PER_HOUR = 1_000;
/**
 * Charges a second by default, and as many refunds, each an endpoint of its own to Stripe. Look-ups of charges are
 * counted with them. Stripe takes more once it is asked to; VENDOR_SOCKETS carry 160 of 2 s each.
 */
const DEFAULT_STRIPE_RATE = 25;
/** The same with a key of Stripe's test mode, which has one bound for all endpoints. Below DEFAULT_STRIPE_RATE. */
const DEFAULT_STRIPE_TEST_RATE = 12;
/** Texts a second by default: what Twilio sends from one US long code. */
const DEFAULT_TWILIO_RATE = 1;
/** Highest rate of requests a second that a vendor may be set to. */
const MAX_VENDOR_RATE = 10_000;
/** Simulated drivers in the sandbox by default. */
const DEFAULT_SIMULATED_DRIVERS = 20;
/**
 * Time for which a stop says so in `/readyz` before it refuses anything: a balancer that looks each second has
 * looked twice. With STOP_DEADLINE_MS below the 10 s after which Docker kills a process by default.
 */
export const DEFAULT_STOP_NOTICE_SECONDS = 2;
/** Longest such time, for balancers that look twice a minute. At least DEFAULT_STOP_NOTICE_SECONDS. */
const MAX_STOP_NOTICE_SECONDS = 60;
/** Requests a second that Stripe takes of one endpoint, and in test mode of all. */
const STRIPE_ENDPOINT_RATE = 25;
/** Usual time of a charge at Stripe, in seconds. */
const CHARGE_SECONDS = 2;

atMost({ DEFAULT_PAYMENT_WAIT_MS }, { MAX_PAYMENT_WAIT_MS });
below({ MAX_PAYMENT_WAIT_MS }, { REQUEST_DEADLINE_MS });
atMost({ DEFAULT_STORE_RATE }, { MAX_STORE_RATE });
atMost({ DEFAULT_READ_RATE }, { MAX_STORE_RATE });
below({ DEFAULT_RELEASES_PER_HOUR }, { MAX_RELEASES_PER_HOUR });
atMost({ DEFAULT_STRIPE_RATE }, { STRIPE_ENDPOINT_RATE });
atMost({ '2 × DEFAULT_STRIPE_TEST_RATE': 2 * DEFAULT_STRIPE_TEST_RATE }, { STRIPE_ENDPOINT_RATE });
below({ DEFAULT_STRIPE_TEST_RATE }, { DEFAULT_STRIPE_RATE });
atMost({ DEFAULT_TWILIO_RATE }, { MAX_VENDOR_RATE });
atMost({ DEFAULT_SIMULATED_DRIVERS }, { MAX_SIMULATED_DRIVERS });
atMost({ DEFAULT_SMS_DELAY_SECONDS }, { MAX_SMS_DELAY_SECONDS });
below({ DEFAULT_SMS_PER_PHONE }, { DEFAULT_SMS_PER_STORE });
atMost({ DEFAULT_SMS_PER_STORE }, { MAX_SMS_PER_DAY });
atMost({ 'charges in flight at DEFAULT_STRIPE_RATE': DEFAULT_STRIPE_RATE * CHARGE_SECONDS }, { VENDOR_SOCKETS });
atMost({ DEFAULT_STOP_NOTICE_SECONDS }, { MAX_STOP_NOTICE_SECONDS });

export type Role = 'api' | 'worker';

/** The settings as the service uses them; `null` is a setting that is not set. */
export type Config = ReturnType<typeof settingsOf> & {
  /** Whether the geocoder's points are made up within their ZIPs, as by the sandbox's stand-in; no setting. */
  readonly geocoderInvents?: boolean;
};

/** The United States with their territories, and Canada. */
const DEFAULT_SMS_COUNTRIES = 'US,CA,PR,VI,GU,AS,MP';

const DEFAULT_SUPPORT_EMAIL = 'support@localhost';

/** Hosts that only this machine reaches. */
const THIS_MACHINE = /^(127\.|\[?::1\]?$|localhost$)/;

export type Environment = Readonly<Record<string, string | undefined>>;

/** The settings cannot be used; the message names every problem. */
export class ConfigError extends Error {
  constructor(problems: readonly string[]) {
    super(`The settings are not usable:\n${problems.map((problem) => `  - ${problem}`).join('\n')}`);
    this.name = 'ConfigError';
  }
}

/** Reads the settings from this process's environment. Beside it only readCaller reads that. */
export function readConfig(): Config {
  return parseConfig(process.env);
}

/** How the command line is called, and in which folder, as whoever started it says; none of its settings. */
export function readCaller(): { readonly command: string | undefined; readonly folder: string } {
  const { SAMEDAY_COMMAND: command, SAMEDAY_FOLDER: folder = '' } = process.env;
  return { command, folder };
}

/** The names of all settings. */
export function settingNames(): string[] {
  const names = new Set<string>();
  const note = (_: object, name: string | symbol): undefined => void names.add(String(name));
  parseConfig(new Proxy({}, { get: note }));
  return [...names].sort();
}

/** A line for each variable whose name is nearly, and not, that of a setting. */
export function misspeltSettings(env: Environment = process.env): string[] {
  const names = settingNames();
  return Object.keys(env).flatMap((name) => {
    if (names.includes(name)) return [];
    const nearest = names.find((known) => isNearly(name, known));
    return nearest === undefined ? [] : [`${name} is no setting and counts for nothing. Is ${nearest} meant?`];
  });
}

/** Lines about settings that are usable, and seldom meant. */
export function doubtsAbout(config: Config): string[] {
  const { sandbox, trustProxy, host, baseUrl, supportEmail, geocoderUrl, stripe } = config;
  const doubts = baseUrl === null ? [] : doubtsAboutBase(new URL(baseUrl));
  if (trustProxy && !THIS_MACHINE.test(host)) {
    doubts.push(
      'TRUST_PROXY=1 believes X-Forwarded-For of whoever reaches this port. Set HOST=127.0.0.1 where the proxy is on ' +
        'this machine, else let only the proxy reach the port.',
    );
  }
  if (!sandbox && stripe?.secretKey.includes('_test_')) {
    doubts.push('STRIPE_SECRET_KEY is of the test mode: orders count as paid, and no money moves. Set the live key.');
  }
  if (!sandbox && supportEmail === DEFAULT_SUPPORT_EMAIL) {
    doubts.push(`SUPPORT_EMAIL is not set: replies name ${supportEmail}.`);
  }
  if (!sandbox && geocoderUrl !== null && isPublicGeocoder(geocoderUrl)) {
    doubts.push(
      'GEOCODER_URL is the public Nominatim, which allows one request a second, of all processes together: many ' +
        'addresses are taken for the middle of their ZIP code. Run a server of your own.',
    );
  }
  return doubts;
}

function doubtsAboutBase({ protocol, hostname, pathname, search }: URL): string[] {
  const doubts: string[] = [];
  if (protocol === 'http:' && !THIS_MACHINE.test(hostname)) {
    doubts.push(
      'BASE_URL begins with http: phones tell their position to pages of https alone, and a driver without one gets ' +
        'no order. Set an address of https.',
    );
  }
  if (pathname !== '/' || search !== '') {
    doubts.push(
      'BASE_URL goes on behind its host, and the pages work at the root alone. Give them a host of their own.',
    );
  }
  return doubts;
}

/** Whether two names differ in one character of four, at most two, or in their case. Short ones are others' too. */
function isNearly(name: string, known: string): boolean {
  const most = Math.min(2, Math.floor(known.length / 4));
  if (known.length < 5 || Math.abs(name.length - known.length) > most) return name.toUpperCase() === known;
  return changes(name.toUpperCase(), known) <= most;
}

/** The fewest characters to change, add or take away (Levenshtein). */
function changes(from: string, to: string): number {
  let row = Array.from({ length: to.length + 1 }, (_, index) => index);
  for (const [i, letter] of [...from].entries()) {
    const next = [i + 1];
    for (const [j, wanted] of [...to].entries()) {
      const kept = (row[j] ?? 0) + (letter === wanted ? 0 : 1);
      next.push(Math.min(kept, (row[j + 1] ?? 0) + 1, (next[j] ?? 0) + 1));
    }
    row = next;
  }
  return row.at(-1) ?? 0;
}

/**
 * Reads the settings of the command line, which needs neither Twilio nor a tracking address, and Stripe only
 * for the links of cards.
 */
export function readCliConfig(env: Environment = process.env): Config {
  const config = parseConfig({
    BASE_URL: env.BASE_URL,
    DATABASE_URL: env.DATABASE_URL,
    DATA_DIR: env.DATA_DIR,
    GEOCODER_URL: env.GEOCODER_URL,
    REDIS_URL: env.REDIS_URL,
    SUPPORT_EMAIL: env.SUPPORT_EMAIL,
    UNPAID_ORDERS_ALLOWED: env.UNPAID_ORDERS_ALLOWED,
    SANDBOX: '1',
  });
  const sandbox = env.SANDBOX?.trim() || (config.databaseUrl ? '0' : '1');
  const problems: string[] = [];
  const stripe = env.STRIPE_SECRET_KEY?.trim() ? reader(env, problems).stripe(true) : null;
  if (problems.length > 0) throw new ConfigError(problems);
  return { ...config, stripe, sandbox: sandbox === '1' };
}

/**
 * Turns an environment into settings.
 *
 * @throws {ConfigError} naming every problem
 */
export function parseConfig(env: Environment): Config {
  const problems: string[] = [];
  const read = reader(env, problems);
  const config = settingsOf(read, problems);
  problems.push(...contradictions(config, (name) => read.text(name) !== null));
  if (problems.length > 0) throw new ConfigError([...problems, ...misspeltSettings(env)]);
  return config;
}

function settingsOf(read: ReturnType<typeof reader>, problems: string[]) {
  const configured = ['DATABASE_URL', 'REDIS_URL', 'STRIPE_SECRET_KEY', 'TWILIO_ACCOUNT_SID'].some(read.text);
  const sandbox = read.flag('SANDBOX', !configured);
  const logLevel = read.choice('LOG_LEVEL', ['debug', 'info', 'warn', 'error', 'silent'], sandbox ? 'warn' : 'info');
  const certFile = read.text('TLS_CERT_FILE');
  const keyFile = read.text('TLS_KEY_FILE');
  if ((certFile === null) !== (keyFile === null)) problems.push('TLS_CERT_FILE and TLS_KEY_FILE go together');
  return {
    sandbox,
    roles: read.roles(),
    port: read.integer('PORT', 8080, 0, 65_535),
    /** Whether the operator set the port; a process with the role `worker` alone listens only then. */
    portIsSet: read.text('PORT') !== null,
    host: read.text('HOST') ?? (sandbox ? '127.0.0.1' : '0.0.0.0'),
    baseUrl: read.url('BASE_URL', ['http:', 'https:']),
    trackingUrl: read.url('TRACKING_URL', ['http:', 'https:']),
    tls: certFile && keyFile ? ({ certFile, keyFile } as const) : null,
    trustProxy: read.flag('TRUST_PROXY', false),
    /** Time from a signal, or from what else ends the process, to the first refusal. */
    stopNoticeSeconds: read.integer(
      'STOP_NOTICE_SECONDS',
      sandbox ? 0 : DEFAULT_STOP_NOTICE_SECONDS,
      0,
      MAX_STOP_NOTICE_SECONDS,
    ),
    databaseUrl: read.url('DATABASE_URL', ['postgres:', 'postgresql:'], urlsOfHosts),
    redisUrl: read.url('REDIS_URL', ['redis:', 'rediss:']),
    dataDir: resolve(read.text('DATA_DIR') ?? '.data'),
    /** Where photos are stored instead of the data folder. */
    photoBucket: read.photoBucket(),
    stripe: read.stripe(sandbox),
    twilio: read.twilio(sandbox),
    sms: read.sms(sandbox),
    geocoderUrl: read.url('GEOCODER_URL', ['http:', 'https:']),
    /** An OSRM-compatible server, for the planner's travel times. */
    routerUrl: read.url('ROUTER_URL', ['http:', 'https:']),
    tileUrl: read.text('TILE_URL'),
    /** The attribution that the map's licence asks for. */
    tileAttribution: read.text('TILE_ATTRIBUTION') ?? '© OpenStreetMap contributors',
    paymentWaitMs: read.integer('PAYMENT_WAIT_MS', DEFAULT_PAYMENT_WAIT_MS, 0, MAX_PAYMENT_WAIT_MS),
    /** Orders a second that a store without a setting of its own may create; 0 for no bound. */
    storeRate: read.integer('STORE_RATE', sandbox ? 0 : DEFAULT_STORE_RATE, 0, MAX_STORE_RATE),
    /** Unpaid orders in a row after which a store's further ones wait; 0 and 1: from the first one on. */
    unpaidOrdersAllowed: read.integer(
      'UNPAID_ORDERS_ALLOWED',
      DEFAULT_UNPAID_ORDERS_ALLOWED,
      0,
      MAX_UNPAID_ORDERS_ALLOWED,
    ),
    /** Orders that a driver may give back within an hour before they have to wait; 0 for no bound. */
    releasesPerHour: read.integer('RELEASES_PER_HOUR', DEFAULT_RELEASES_PER_HOUR, 0, MAX_RELEASES_PER_HOUR),
    /** Reads a second that a store may make; 0 for no bound. */
    readRate: read.integer('READ_RATE', sandbox ? 0 : DEFAULT_READ_RATE, 0, MAX_STORE_RATE),
    supportEmail: read.text('SUPPORT_EMAIL') ?? DEFAULT_SUPPORT_EMAIL,
    /** What readers of `/metrics` have to send; null for anybody in the sandbox, and for nobody outside. */
    metricsToken: read.matching('METRICS_TOKEN', /^[!-~]{16,}$/, 'at least 16 visible characters'),
    logLevel,
    /** Which requests get a line in the log. */
    requestLog: read.choice('REQUEST_LOG', ['all', 'failed', 'off'], defaultRequestLog(sandbox, logLevel)),
    simulatedDrivers: read.integer(
      'SIMULATED_DRIVERS',
      sandbox ? DEFAULT_SIMULATED_DRIVERS : 0,
      0,
      MAX_SIMULATED_DRIVERS,
    ),
    /** Whether drivers without an order are asked to wait where orders are expected. */
    idleDriversWait: read.flag('IDLE_DRIVERS_WAIT', sandbox),
  } as const;
}

/** Lines at level info, so that a level above it leaves them out; a sandbox's terminal shows failed ones. */
function defaultRequestLog(sandbox: boolean, logLevel: string): 'all' | 'failed' | 'off' {
  if (logLevel === 'silent') return 'off';
  if (sandbox) return 'failed';
  return ['debug', 'info'].includes(logLevel) ? 'all' : 'off';
}

/** Settings that contradict each other. One that is set and unusable has been named, and is not missing. */
function contradictions(config: Config, isSet: (name: string) => boolean): string[] {
  const problems: string[] = [];
  if (config.sandbox && /^(sk|rk)_live_/.test(config.stripe?.secretKey ?? '')) {
    problems.push('SANDBOX=1 is refused with a live STRIPE_SECRET_KEY');
  }
  if (!config.sandbox) {
    if (!isSet('DATABASE_URL')) {
      problems.push('DATABASE_URL is missing (outside the sandbox the service brings no Postgres)');
    }
    if (!isSet('TRACKING_URL') && !isSet('BASE_URL')) {
      problems.push('BASE_URL is missing: the public address, https://…, to which texts and links lead');
    }
    if (config.simulatedDrivers > 0) problems.push('SIMULATED_DRIVERS is for the sandbox only');
  }
  if (config.roles.size === 1 && !isSet('REDIS_URL')) {
    problems.push('ROLES with one role needs REDIS_URL: without it one process has both roles');
  }
  if (config.roles.size === 1 && !isSet('DATABASE_URL')) problems.push('ROLES with one role needs DATABASE_URL');
  return problems;
}

/** Readers of single settings. They add problems to `problems` and return a fallback. Empty means not set. */
function reader(env: Environment, problems: string[]) {
  const text = (name: string): string | null => env[name]?.trim() || null;

  function integer(name: string, fallback: number, min: number, max: number): number {
    const value = text(name);
    if (value === null) return fallback;
    const number = Number(value);
    if (/^\d+$/.test(value) && number >= min && number <= max) return number;
    problems.push(`${name} must be a whole number from ${min} to ${max}`);
    return fallback;
  }

  function choice<Choice extends string>(name: string, allowed: readonly Choice[], fallback: Choice): Choice {
    const value = text(name);
    const chosen = value === null ? fallback : allowed.find((each) => each === value);
    if (chosen !== undefined) return chosen;
    problems.push(`${name} must be one of ${allowed.join(', ')}`);
    return fallback;
  }

  function flag(name: string, fallback: boolean): boolean {
    return choice(name, ['0', '1'], fallback ? '1' : '0') === '1';
  }

  /** @param parts the URLs that it stands for, where it is more than one */
  function url(name: string, protocols: readonly string[], parts = (value: string) => [value]): string | null {
    const value = text(name);
    if (value === null) return null;
    const isOne = (part: string): boolean =>
      URL.canParse(part) && protocols.includes(new URL(part).protocol) && canBeUnescaped(part);
    if (parts(value).every(isOne) && !value.includes('#')) return value.replace(/\/+$/, '');
    const escapes = '; in it # % / ? @ of a user or password are written %23 %25 %2F %3F %40';
    const escaped = /[#%@]/.test(value) ? escapes : '';
    problems.push(`${name} must be a URL that starts with ${protocols.map((p) => `${p}//`).join(' or ')}${escaped}`);
    return null;
  }

  function matching(name: string, pattern: RegExp, form: string): string | null {
    const value = text(name);
    if (value === null || pattern.test(value)) return value;
    problems.push(`${name} must be ${form}`);
    return null;
  }

  function roles(): ReadonlySet<Role> {
    const names = (text('ROLES') ?? 'api,worker').split(',').map((name) => name.trim());
    if (names.every((name) => name === 'api' || name === 'worker')) return new Set(names as Role[]);
    problems.push('ROLES must be api, worker or both, separated by a comma');
    return new Set(['api', 'worker']);
  }

  /**
   * Whether all names are set. Outside the sandbox a missing one is a problem; inside, a stand-in needs none.
   */
  function required(names: readonly string[], sandbox: boolean): boolean {
    const missing = names.filter((name) => !text(name));
    if (missing.length === 0) return true;
    if (!sandbox) problems.push(...missing.map((name) => `${name} is missing (set SANDBOX=1 to try without)`));
    else if (missing.length < names.length) problems.push(...missing.map((name) => `${name} is missing`));
    return false;
  }

  /**
   * All of the settings or none: with some of them photos would go to a folder where nobody looks for them.
   */
  function photoBucket() {
    const endpoint = url('S3_ENDPOINT', ['http:', 'https:']);
    const prefix = matching(
      'S3_PREFIX',
      /^[\w-][\w.-]*(\/[\w-][\w.-]*)*$/,
      'names of letters and digits with / between',
    );
    const bucket = matching(
      'S3_BUCKET',
      /^[A-Za-z0-9][\w.-]{1,253}[A-Za-z0-9]$/,
      'the name of a bucket, not its address',
    );
    const region = matching('S3_REGION', /^[a-z0-9-]+$/, 'a region such as us-east-1');
    const keys = ['S3_ACCESS_KEY_ID', 'S3_SECRET_ACCESS_KEY'];
    if (!['S3_BUCKET', 'S3_REGION', 'S3_ENDPOINT', 'S3_PREFIX', ...keys].some(text)) return null;
    // Only Amazon needs a region.
    const needed = ['S3_BUCKET', ...(text('S3_ENDPOINT') ? [] : ['S3_REGION']), ...keys];
    const missing = needed.filter((name) => !text(name));
    problems.push(...missing.map((name) => `${name} is missing: a bucket needs all of its settings`));
    return {
      bucket: bucket ?? '',
      region: region ?? 'us-east-1',
      endpoint,
      accessKeyId: text('S3_ACCESS_KEY_ID') ?? '',
      secretAccessKey: text('S3_SECRET_ACCESS_KEY') ?? '',
      prefix: prefix ?? '',
    } as const;
  }

  function stripe(sandbox: boolean) {
    const apiBase = url('STRIPE_API_BASE', ['http:', 'https:']);
    const rate = integer('STRIPE_RATE', defaultStripeRate(sandbox, apiBase), 0, MAX_VENDOR_RATE);
    const webhookSecrets = stripeSecrets();
    if (!required(['STRIPE_SECRET_KEY'], sandbox)) {
      if (sandbox && webhookSecrets.length > 0) problems.push('STRIPE_WEBHOOK_SECRET needs STRIPE_SECRET_KEY');
      return null;
    }
    const secretKey = matching(
      'STRIPE_SECRET_KEY',
      /^(sk|rk)_\w+$/,
      'a secret key: sk_…, or rk_… of restricted rights',
    );
    return { secretKey: secretKey ?? '', apiBase, rate, webhookSecrets } as const;
  }

  /** None for a stand-in, which the sandbox has where nothing names Stripe. */
  function defaultStripeRate(sandbox: boolean, apiBase: string | null): number {
    const key = text('STRIPE_SECRET_KEY');
    if (sandbox && (apiBase !== null || key === null)) return 0;
    return key?.includes('_test_') ? DEFAULT_STRIPE_TEST_RATE : DEFAULT_STRIPE_RATE;
  }

  /** What Stripe signs its callbacks with: none, one, or two while they are exchanged. */
  function stripeSecrets(): readonly string[] {
    const secrets = (text('STRIPE_WEBHOOK_SECRET') ?? '').split(',').filter((secret) => secret.trim() !== '');
    const trimmed = secrets.map((secret) => secret.trim());
    if (trimmed.length > 2 || !trimmed.every((secret) => /^whsec_[\w+/=-]{16,}$/.test(secret))) {
      problems.push('STRIPE_WEBHOOK_SECRET must be whsec_… as Stripe shows it, or two of them with a comma between');
    }
    return trimmed;
  }

  function twilio(sandbox: boolean) {
    const rate = integer('TWILIO_RATE', sandbox ? 0 : DEFAULT_TWILIO_RATE, 0, MAX_VENDOR_RATE);
    const apiBase = url('TWILIO_API_BASE', ['http:', 'https:']);
    if (!required(['TWILIO_ACCOUNT_SID', 'TWILIO_AUTH_TOKEN', 'TWILIO_FROM'], sandbox)) return null;
    return {
      accountSid: matching('TWILIO_ACCOUNT_SID', /^AC\w+$/, "the account's SID: AC…") ?? '',
      authToken: text('TWILIO_AUTH_TOKEN') ?? '',
      from:
        matching(
          'TWILIO_FROM',
          /^(\+[1-9]\d{6,14}|\d{3,8})$/,
          'a number in E.164, like +14155550100, or a short code',
        ) ?? '',
      apiBase,
      rate,
    } as const;
  }

  /** No bound of a day in the sandbox, where a load test orders for one phone. */
  function sms(sandbox: boolean) {
    return {
      /** Countries whose phones are texted, by their ISO 3166-1 codes; null for all. */
      countries: countries('SMS_COUNTRIES', DEFAULT_SMS_COUNTRIES),
      /** Time from an order to its text. */
      delaySeconds: integer('SMS_DELAY_SECONDS', DEFAULT_SMS_DELAY_SECONDS, 0, MAX_SMS_DELAY_SECONDS),
      /** Most texts a day (UTC) to one phone, and for one store; 0 for no bound. */
      perPhone: integer('SMS_PER_PHONE', sandbox ? 0 : DEFAULT_SMS_PER_PHONE, 0, MAX_SMS_PER_DAY),
      perStore: integer('SMS_PER_STORE', sandbox ? 0 : DEFAULT_SMS_PER_STORE, 0, MAX_SMS_PER_DAY),
    } as const;
  }

  function countries(name: string, fallback: string): ReadonlySet<string> | null {
    const value = text(name) ?? fallback;
    if (value === '*') return null;
    const codes = value.split(',').map((code) => code.trim());
    if (!codes.every(isCountry)) problems.push(`${name} must be codes of countries such as US,CA, or * for all`);
    return new Set(codes);
  }

  return { text, integer, choice, flag, url, matching, roles, photoBucket, stripe, twilio, sms };
}

/** Whether each `%` begins an escape, so that user and password can be read. */
function canBeUnescaped(value: string): boolean {
  try {
    decodeURIComponent(value);
    return true;
  } catch {
    return false;
  }
}
