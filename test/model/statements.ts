import { StatementGivenUp } from '../../src/postgres/deadline.ts';
import type { Store } from '../../src/store/store.ts';
import type { Random } from '../harness/world.ts';
import type { ModelDatabase } from './database.ts';
import { LeaseAnswers } from './lease-answers.ts';
import type { VirtualTime } from './virtual-time.ts';

/**
 * What befalls a statement. `lost`: it is committed, and its reply is not heard. `late`: it is given up, and
 * committed later. `failed`: it never reaches the database. `slow`: its reply comes later.
 */
export const FAULT_KINDS = ['lost', 'late', 'failed', 'slow'] as const;
export type FaultKind = (typeof FAULT_KINDS)[number];

/** The families of statements that a fault can befall, by their names in the store. */
export const FAULT_TARGETS = {
  assign: ['assignWaiting'],
  insert: ['insertOrders'],
  duty: ['setDriverDuty', 'endDuties'],
  step: ['pickUpOrder', 'pickUpLate', 'deliverOrder', 'markUndeliverable', 'returnOrder', 'releaseFromSilent'],
  release: ['releaseOrder'],
  cancel: ['cancelOrder', 'expireOrder'],
  plans: ['writePlans'],
  lease: ['takeLease'],
  door: ['recordDropoffs'],
  positions: ['writePositions'],
  reads: ['loadFleet', 'loadOrderStates', 'loadWaiting', 'findMatchable', 'loadHolds'],
} as const satisfies Readonly<Record<string, readonly (keyof Store)[]>>;
export type FaultTarget = keyof typeof FAULT_TARGETS;

export type Fault = {
  readonly process: number;
  readonly target: FaultTarget;
  readonly kind: FaultKind;
  /** For a late or slow one, by how much, in milliseconds. */
  readonly ms: number;
  /** It befalls so many statements, until a time. */
  times: number;
  readonly untilMs: number;
};

/** A statement that a process sent. */
export type Call = {
  readonly process: number;
  readonly name: string;
  readonly args: readonly unknown[];
  readonly sentMs: number;
};

/** Hears of every statement, one after another. */
export type Witness = {
  /** When the process sends it. */
  sent(call: Call): void;
  /** Just before it runs. */
  before(call: Call): Promise<void> | void;
  /** Just after it was committed. */
  after(call: Call, result: unknown): Promise<void> | void;
  /** When the process has its reply. */
  answered(call: Call, result: unknown): void;
};

type Pending = Call & {
  readonly run: () => Promise<unknown>;
  readonly resolve: (result: unknown) => void;
  readonly reject: (error: unknown) => void;
  fault: Fault | undefined;
};

const READS = /^(load|find|read|explain|takeLease|leaveLease|writePositions)/;

/**
 * The statements of all processes on their way to the database: run one at a time, in an order that the seed
 * decides, so that a seed is the same day each time.
 */
export class Statements {
  readonly #time: VirtualTime;
  readonly #database: ModelDatabase;
  readonly #random: Random;
  readonly #witness: Witness;
  readonly #notify: (payload: string) => void;
  readonly #waiting: Pending[] = [];
  readonly #faults: Fault[] = [];
  readonly #leases = new LeaseAnswers();
  #underWay = 0;

  constructor(parts: {
    readonly time: VirtualTime;
    readonly database: ModelDatabase;
    readonly random: Random;
    readonly witness: Witness;
    readonly notify: (payload: string) => void;
  }) {
    this.#time = parts.time;
    this.#database = parts.database;
    this.#random = parts.random;
    this.#witness = parts.witness;
    this.#notify = parts.notify;
  }

  /** The store of a process whose statements go through here. */
  through(process: number, store: Store): Store {
    const bound = Object.entries(store).map(([name, statement]) => {
      const call = statement as (...args: unknown[]) => Promise<unknown>;
      return [name, (...args: unknown[]) => this.#send(process, name, args, () => call(...args))];
    });
    return Object.fromEntries(bound) as Store;
  }

  addFault(fault: Fault): void {
    this.#faults.push(fault);
  }

  endFaults(): void {
    this.#faults.length = 0;
  }

  get hasFaults(): boolean {
    return this.#faults.some(({ times, untilMs }) => times > 0 && untilMs >= this.#time.nowMs);
  }

  /** Whether every statement that was sent has its reply. */
  get isQuiet(): boolean {
    return this.#underWay === 0;
  }

  /** Runs one statement; false where none waits. */
  async runOne(): Promise<boolean> {
    if (this.#waiting.length === 0) return false;
    const at = Math.floor(this.#random() * this.#waiting.length);
    const [pending] = this.#waiting.splice(at, 1) as [Pending];
    await this.#run(pending);
    return true;
  }

  #send(process: number, name: string, args: readonly unknown[], run: () => Promise<unknown>): Promise<unknown> {
    return new Promise((resolve, reject) => {
      const fault = this.#faultOf(process, name);
      const call = { process, name, args, sentMs: this.#time.nowMs };
      const pending = { ...call, run, resolve, reject, fault };
      this.#witness.sent(pending);
      this.#underWay++;
      if (fault?.kind === 'failed') this.#end(() => reject(new StatementGivenUp('DATABASE_AWAY')));
      else if (fault?.kind === 'late') {
        this.#end(() => reject(new StatementGivenUp('DEADLINE_SENT')));
        this.#underWay++;
        this.#time.after(fault.ms, () => this.#waiting.push(pending));
      } else this.#waiting.push(pending);
    });
  }

  #faultOf(process: number, name: string): Fault | undefined {
    const fault = this.#faults.find(
      (each) =>
        each.process === process &&
        each.times > 0 &&
        each.untilMs >= this.#time.nowMs &&
        (FAULT_TARGETS[each.target] as readonly string[]).includes(name),
    );
    if (fault) fault.times--;
    return fault;
  }

  async #run(pending: Pending): Promise<void> {
    this.#database.setNow(this.#time.nowMs);
    await this.#witness.before(pending);
    let end: () => void;
    try {
      const result = await this.#resultOf(pending);
      await this.#witness.after(pending, result);
      end = () => {
        this.#witness.answered(pending, result);
        pending.resolve(result);
      };
    } catch (error) {
      end = () => pending.reject(error);
    }
    const { fault } = pending;
    if (fault?.kind === 'late') this.#underWay--;
    else if (fault?.kind === 'lost') {
      this.#end(() => pending.reject(new StatementGivenUp('DEADLINE_SENT')));
    } else if (fault?.kind === 'slow') this.#time.after(fault.ms, () => this.#end(end));
    else this.#end(end);
  }

  async #resultOf(pending: Pending): Promise<unknown> {
    const repeated = this.#leases.repeat(pending, this.#time.nowMs);
    if (repeated) return repeated.result;
    const untilMs = this.#leases.owedBefore(pending);
    if (untilMs !== null) this.#database.extendLease(untilMs);
    const result = await pending.run();
    this.#leases.answered(pending, result, this.#time.nowMs);
    if (!READS.test(pending.name)) for (const payload of await this.#database.takeNotices()) this.#notify(payload);
    return result;
  }

  #end(end: () => void): void {
    this.#underWay--;
    end();
  }
}
