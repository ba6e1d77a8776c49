import { type ActionStore, STORAGE_MS } from './queue.ts';
import type { Door } from './route.ts';
import { type Action, type DriverState, stateOf, type ToldState } from './state.ts';

const DATABASE = 'sameday-driver';
const ACTIONS = 'actions';
const DRAFTS = 'drafts';
const TOKEN = 'sameday-driver-token';
const STATE = 'sameday-driver-state';
const OFF_DUTY = 'sameday-driver-off-duty';
const END_OF_DUTY = 'sameday-driver-end-of-duty';
const DOOR = 'sameday-driver-door';
const CLOCK = 'sameday-driver-clock-ahead';

const NO_ANSWER = new Error('the storage does not answer');

/** A photo that was taken and not sent, as some phones end a page while the camera is open. */
export type Draft = { readonly orderId: string; readonly photo: ArrayBuffer };

export type DriverStore = ActionStore & {
  draft(): Promise<Draft | null>;
  keepDraft(draft: Draft | null): Promise<void>;
};

/**
 * Opens the phone's storage in IndexedDB, or in memory where the browser has none; `add` then fails. What does not
 * answer in time may do so later.
 */
export async function openStore(): Promise<DriverStore> {
  const opening = openDatabase();
  try {
    await inTime(opening);
  } catch (error) {
    if (error !== NO_ANSWER) return inMemory();
  }
  return overIndexedDb(opening);
}

function openDatabase(): Promise<IDBDatabase> {
  return new Promise((resolve, reject) => {
    const request = indexedDB.open(DATABASE, 1);
    request.onupgradeneeded = () => {
      request.result.createObjectStore(ACTIONS, { keyPath: 'id' });
      request.result.createObjectStore(DRAFTS);
    };
    request.onsuccess = () => resolve(request.result);
    request.onerror = () => reject(request.error);
    request.onblocked = () => reject(new Error('another window holds the storage'));
  });
}

type Use<Value> = (store: IDBObjectStore) => { readonly result: Value };

function overIndexedDb(opening: Promise<IDBDatabase>): DriverStore {
  let database = opening;
  const once = async <Value>(name: string, mode: IDBTransactionMode, use: Use<Value>): Promise<Value> => {
    // Over the same stores writes run in their order: a photo's draft is gone before the action that has the photo.
    // By default a write is finished before it is on the disk, and lost where the phone's battery ends then.
    const how = { durability: mode === 'readwrite' ? 'strict' : 'default' } as const;
    const transaction = (await database).transaction(mode === 'readwrite' ? [ACTIONS, DRAFTS] : name, mode, how);
    const request = use(transaction.objectStore(name));
    await finished(transaction);
    return request.result;
  };
  /** Opens the storage once more on failure, as some phones cut a hidden page off from it. */
  const run = async <Value>(name: string, mode: IDBTransactionMode, use: Use<Value>): Promise<Value> => {
    try {
      return await once(name, mode, use);
    } catch {
      void database.then((old) => old.close()).catch(() => {});
      database = openDatabase();
      return once(name, mode, use);
    }
  };
  const read = <Value>(name: string, use: Use<Value>) => run(name, 'readonly', use);
  const write = async (name: string, use: Use<unknown>) => void (await run(name, 'readwrite', use));
  /** What IndexedDB refused, for the next session of this page. */
  const unkept = new Map<string, Action>();
  /** Each action that was written and not removed, as it is by now. */
  const latest = new Map<string, Action>();
  /** What is being removed: a read that was asked before may still answer with it. */
  const removed = new Set<string>();
  /** Writes what is by now: a write that is tried again must undo none after it. */
  const settle = (id: string) =>
    write(ACTIONS, (store) => {
      const now = latest.get(id);
      return now ? store.put(now) : store.delete(id);
    });
  return {
    async all() {
      // The driver can go on without a readable storage, and meanwhile without one that does not answer yet.
      const stored = await read<Action[]>(ACTIONS, (store) => store.getAll()).catch((): Action[] => []);
      const actions = [...stored.filter(({ id }) => !unkept.has(id) && !removed.has(id)), ...unkept.values()];
      return actions.sort((a, b) => a.number - b.number);
    },
    added: () => [...latest.values()],
    async add(action) {
      latest.set(action.id, action);
      const written = settle(action.id).then(() => void unkept.delete(action.id));
      try {
        await inTime(written);
      } catch (error) {
        const now = latest.get(action.id);
        if (now) unkept.set(action.id, now);
        throw error;
      }
    },
    isKept: (id) => !unkept.has(id),
    remove(id) {
      unkept.delete(id);
      latest.delete(id);
      removed.add(id);
      return settle(id).then(() => void removed.delete(id));
    },
    draft: async () => (await inTime(read<Draft | undefined>(DRAFTS, (store) => store.get(0)))) ?? null,
    keepDraft: (draft) => inTime(write(DRAFTS, (store) => (draft ? store.put(draft, 0) : store.delete(0)))),
  };
}

function finished(transaction: IDBTransaction): Promise<void> {
  return new Promise((resolve, reject) => {
    transaction.oncomplete = () => resolve();
    transaction.onerror = () => reject(transaction.error);
    transaction.onabort = () => reject(transaction.error);
  });
}

/** What the storage answers within STORAGE_MS, else NO_ANSWER. */
function inTime<Value>(answer: Promise<Value>): Promise<Value> {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(() => reject(NO_ANSWER), STORAGE_MS);
    void answer.then(resolve, reject).then(() => clearTimeout(timer));
  });
}

function inMemory(): DriverStore {
  const actions = new Map<string, Action>();
  let draft: Draft | null = null;
  return {
    all: async () => [...actions.values()],
    added: () => [...actions.values()],
    async add(action) {
      actions.set(action.id, action);
      throw new Error('kept only while the page is open');
    },
    isKept: () => false,
    remove: async (id) => void actions.delete(id),
    draft: async () => draft,
    async keepDraft(next) {
      draft = next;
    },
  };
}

/** The lock of the page that may write what all pages of this phone share. */
const WRITER = 'sameday-driver-writer';
let isWriter = true;
/** How often this page took the lock, also from itself. */
let claims = 0;

/**
 * Makes this page the one that keeps the state, in place of another window or the page beside the installed app:
 * the service tells an order's customer to the page that the driver uses, and the others know less.
 */
export function becomeWriter(): void {
  isWriter = true;
  const mine = ++claims;
  // Without https there is no lock, and no way to find another page out.
  const stolen = navigator.locks?.request(WRITER, { steal: true }, () => new Promise(() => {}));
  stolen?.catch(() => {
    if (mine === claims) isWriter = false;
  });
}

/** The token and the last state, in local storage. A browser that keeps nothing asks to sign in again. */
export const kept = {
  token: (): string | null => read(TOKEN),
  signIn: (token: string): void => write(TOKEN, token),
  /** The last state, so that the driver can read the order without a network. */
  state(): DriverState | null {
    const told = parsed<ToldState>(read(STATE));
    return told && stateOf(told);
  },
  /** Where the driver was asked to wait is old news for the next page. */
  keepState(state: DriverState): void {
    if (isWriter) write(STATE, JSON.stringify({ ...state, wait_at: null }));
  },
  /**
   * A wish to go off duty outlives the page; one to go on duty must not come true a day later. What an older page kept
   * has no time, and counts as new.
   */
  offDutySinceMs: (): number | null => (read(OFF_DUTY) === null ? null : Number(read(OFF_DUTY)) || Date.now()),
  keepOffDutySince: (ms: number | null): void => write(OFF_DUTY, ms === null ? null : String(ms)),
  /** When the duty ends, ISO 8601, as the driver last said it; null where they did not. It outlives "Last order". */
  endOfDuty: (): string | null => read(END_OF_DUTY),
  keepEndOfDuty: (until: string | null): void => write(END_OF_DUTY, until),
  /** The door at which the driver stands, as some phones end a page while the camera is open. */
  door: (): Door | null => parsed<Door>(read(DOOR)),
  keepDoor(door: Door | null): void {
    if (isWriter) write(DOOR, door && JSON.stringify(door));
  },
  /** By how much the phone's clock is wrong, whoever is signed in on it. */
  clockAheadMs: (): number => Number(read(CLOCK)) || 0,
  keepClockAheadMs: (aheadMs: number): void => write(CLOCK, aheadMs === 0 ? null : String(aheadMs)),
  signOut(): void {
    for (const key of [TOKEN, STATE, OFF_DUTY, END_OF_DUTY, DOOR]) write(key, null);
  },
};

function parsed<Value>(text: string | null): Value | null {
  try {
    return JSON.parse(text ?? 'null') as Value | null;
  } catch {
    return null;
  }
}

/** What is kept under a key in local storage; null where nothing is. */
export function read(key: string): string | null {
  try {
    return localStorage.getItem(key);
  } catch {
    return null;
  }
}

/** Keeps a text under a key, or forgets it. */
export function write(key: string, value: string | null): void {
  try {
    if (value === null) localStorage.removeItem(key);
    else localStorage.setItem(key, value);
  } catch {
    // The page works without it, but not over a restart.
  }
}
