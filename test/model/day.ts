import type { Dispatch } from '../../src/app/dispatch.ts';
import type { DriverPosition } from '../../src/domain/driver.ts';
import type { Matcher } from '../../src/matcher/matcher.ts';
import { openStore, type Store } from '../../src/store/store.ts';
import { type Random, seeded } from '../harness/world.ts';
import type { Command } from './commands.ts';
import type { ModelDatabase } from './database.ts';
import { Walker } from './drivers.ts';
import { Judge } from './judge.ts';
import { GIVEN_LAST_MS } from './liveness.ts';
import { leftPlan, memoryDiffers, wrongHistory } from './memory.ts';
import { obey } from './obey.ts';
import { type Picture, readPicture } from './picture.ts';
import { type ModelProcess, processIdOf, startProcess } from './process.ts';
import { Statements } from './statements.ts';
import { fillTown, makeTown, type Town } from './town.ts';
import { VirtualTime } from './virtual-time.ts';

const BEGINS_MS = Date.UTC(2026, 2, 2, 15);
const TICK_MS = 5_000;
/** A phone reports each second tick. */
const REPORT_TICKS = 2;
const BUS_MS = 200;
/** Memory is as the tables are so long after the last trouble. */
export const CALM_MS = 100_000;
/** At the end nobody does anything for so long: what could be given has to be. */
const FREEZE_MS = 660_000;

/** Whoever runs commands of the operator, and of processes that are not among those of the model. */
const OPERATOR = 9;

/** What is wrong, and after which command. */
export type Finding = { readonly kind: string; readonly text: string; readonly command: number; readonly atMs: number };

/** A bug that is planted again. */
export type Plant = {
  readonly matcher?: (matcher: Matcher) => void;
  readonly store?: (store: Store, process: number) => Store;
  readonly dispatch?: (dispatch: Dispatch) => void;
  /** Whether a notice reaches the processes; each does by default. */
  readonly hears?: (payload: string) => boolean;
};

export type DayParts = {
  readonly database: ModelDatabase;
  readonly seed: number;
  readonly plant?: Plant | undefined;
  /** Whether a kind of finding counts; all do by default. */
  readonly heeds?: ((kind: string) => boolean) | undefined;
  /** Looks at the tables and at memory after each statement. */
  readonly watch?: ((day: Day) => Promise<void>) | undefined;
};

/** A virtual day of a town: two processes that share its tables, its drivers, and a judge. */
export class Day {
  readonly time = new VirtualTime(BEGINS_MS);
  readonly town: Town = makeTown();
  readonly walkers: readonly Walker[];
  /** The ids of orders that nobody cancelled, in the order of their replies. */
  readonly orderIds: string[] = [];
  readonly statements: Statements;
  readonly judge: Judge;
  readonly operator: Store;
  readonly random: Random;
  processes: ModelProcess[] = [];
  isBusCut = false;
  /** How many have ordered, so that no two requests are equal. */
  customers = 0;
  readonly #parts: DayParts;
  #tick = 0;
  #sinceTrouble = BEGINS_MS;

  constructor(parts: DayParts) {
    const { database } = parts;
    this.#parts = parts;
    this.random = seeded(parts.seed);
    this.judge = new Judge(database.sql, this.time, parts.heeds);
    this.statements = new Statements({
      time: this.time,
      database,
      random: this.random,
      witness: this.judge,
      notify: (payload) => {
        if (parts.plant?.hears?.(payload) === false) return;
        for (const { line } of this.processes) line.send(payload);
      },
    });
    this.operator = this.statements.through(OPERATOR, this.#open('operator'));
    this.walkers = this.town.driverIds.map((id, i) => new Walker(id, this.town.pointOf(i), i % 2));
  }

  /** Carries out the commands; returns the first finding, or null. */
  async run(commands: readonly Command[]): Promise<Finding | null> {
    this.time.install();
    try {
      await this.#begin();
      for (const [i, command] of commands.entries()) {
        this.judge.command = i;
        obey(this, command, await this.picture());
        await this.pass(command.waitMs);
        if (command.kind === 'quiet') await this.#calm();
        if (this.judge.finding) return this.judge.finding;
      }
      this.judge.command = commands.length;
      await this.#end();
      return this.judge.finding;
    } finally {
      this.time.restore();
    }
  }

  /** A time from now. */
  inMinutes(count: number): Date {
    return new Date(this.time.nowMs + count * 60_000);
  }

  /** Reports where a driver is, at the process that their phone knows. */
  report({ id, at, process }: Walker): void {
    const taken = this.processes[process]?.dispatch.positions.report(id, at) === 'taken';
    if (taken) this.judge.knowledge.reached(process, id, at, this.time.nowMs, this.time.nowMs);
  }

  /** All troubles of lines, statements and the bus end. */
  mend(): void {
    this.isBusCut = false;
    this.statements.endFaults();
    for (const { line } of this.processes) line.mend();
  }

  /** Lets virtual time pass, and everything happen that is due. */
  async pass(ms: number): Promise<void> {
    const untilMs = this.time.nowMs + ms;
    do await this.#settle();
    while (!this.judge.finding && this.time.runNext(untilMs));
    this.time.nowMs = Math.max(this.time.nowMs, untilMs);
    await this.#settle();
  }

  async #begin(): Promise<void> {
    const { database } = this.#parts;
    database.setNow(this.time.nowMs);
    await database.empty();
    await fillTown(this.town, this.#open('operator'));
    await database.takeNotices();
    await this.judge.begin();
    for (const number of [0, 1]) {
      const store = this.statements.through(number, this.#open(processIdOf(number)));
      const starting = startProcess({
        number,
        time: this.time,
        store: this.#parts.plant?.store?.(store, number) ?? store,
        asksIdle: this.#parts.seed % 5 === 0,
        shared: (position) => this.#share(number, position),
        plant: this.#parts.plant,
      });
      this.processes.push(await this.#complete(starting));
    }
    this.#nextTick();
  }

  #open(processId: string): Store {
    const { sql } = this.#parts.database;
    return openStore({ sql, commits: sql, lists: sql, processId });
  }

  #share(from: number, { driverId, lat, lng, atMs }: DriverPosition): void {
    this.time.after(BUS_MS, () => {
      if (this.isBusCut) return;
      for (const { number, dispatch, matcher } of this.processes) {
        if (number === from || !matcher.driver(driverId)) continue;
        dispatch.positions.receive({ driverId, lat, lng, atMs });
        this.judge.knowledge.reached(number, driverId, { lat, lng }, atMs, this.time.nowMs);
      }
    });
  }

  #nextTick(): void {
    this.time.after(TICK_MS, () => {
      this.#nextTick();
      this.#isTickDue = true;
    });
  }

  #isTickDue = false;

  /** Drivers move and act, and the judge looks at what waits. */
  async #doTick(): Promise<void> {
    this.#isTickDue = false;
    this.#tick++;
    const picture = await this.picture();
    if (this.#isTroubled()) this.#sinceTrouble = this.time.nowMs;
    this.judge.look(picture, this.#sinceTrouble, this.processes);
    for (const [i, walker] of this.walkers.entries()) {
      const carried = picture.orders.filter(({ driverId }) => driverId === walker.id);
      const next = walker.move(TICK_MS / 1_000, carried, this.time.nowMs);
      const isOut = carried.length > 0 || picture.drivers.some(({ id, onDuty }) => id === walker.id && onDuty);
      const isTurn = (this.#tick + i) % REPORT_TICKS === 0;
      if (isOut && isTurn && walker.habit !== 'silent') this.report(walker);
      if (next) this.act(walker, next.kind, next.order.id);
    }
  }

  /** A driver takes a step, at the process that their phone knows. */
  act(walker: Walker, kind: 'pickUp' | 'deliver' | 'returned' | 'release' | 'undeliverable', orderId: string): void {
    const actions = this.processes[walker.process]?.dispatch.actions;
    const action = { driverId: walker.id, orderId, stamp: { actionId: null, capturedAt: null } };
    if (kind === 'deliver') this.start(actions?.deliver(action, { name: 'photo.jpg', isBlank: false }));
    else if (kind === 'release') this.start(actions?.release(action, 'vehicle'));
    else if (kind === 'undeliverable') this.start(actions?.undeliverable(action, 'refused'));
    else this.start(actions?.[kind](action));
  }

  /** Begins something whose failure its caller would be told. */
  start(work: Promise<unknown> | undefined): void {
    work?.catch(() => undefined);
  }

  picture(): Promise<Picture> {
    this.#parts.database.setNow(this.time.nowMs);
    return readPicture(this.#parts.database.sql);
  }

  #isTroubled(): boolean {
    return this.isBusCut || this.statements.hasFaults || this.processes.some(({ line }) => !line.isQuiet);
  }

  /** Ends all troubles and waits; then memory is as the tables are. */
  async #calm(ms = CALM_MS): Promise<void> {
    this.mend();
    await this.pass(ms);
    await this.#untilQuiet();
    if (this.judge.finding) return;
    const { sql } = this.#parts.database;
    const picture = await this.picture();
    for (const process of this.processes) {
      for (const { kind, text } of memoryDiffers(process, picture, this.time.nowMs)) this.judge.found(kind, text);
    }
    const left = await leftPlan(sql);
    if (left) this.judge.found('plan_left', left);
    const history = await wrongHistory(sql);
    if (history) this.judge.found('history', history);
  }

  /** Nobody does anything any more but report. */
  async #end(): Promise<void> {
    for (const walker of this.walkers) if (walker.habit !== 'silent') walker.habit = 'stands';
    await this.#calm();
    const { orders } = await this.picture();
    if (this.judge.finding || orders.every(({ status }) => status !== 'pending_dispatch')) return;
    await this.pass(FREEZE_MS);
    const untilMs = this.time.nowMs + GIVEN_LAST_MS;
    while (this.judge.isWatching && !this.judge.finding && this.time.nowMs < untilMs) await this.pass(TICK_MS);
    if (!this.judge.finding) await this.#calm(0);
  }

  async #untilQuiet(): Promise<void> {
    for (let rounds = 0; rounds < 200 && !this.judge.finding; rounds++) {
      if (this.statements.isQuiet && this.processes.every(({ line }) => line.isQuiet)) return;
      await this.pass(10);
    }
  }

  async #settle(): Promise<void> {
    for (;;) {
      await this.time.turns();
      if (this.#isTickDue) await this.#doTick();
      else if (!(await this.statements.runOne())) return;
      await this.#parts.watch?.(this);
    }
  }

  /** Resolves with the result of work that waits for statements and timers. */
  async #complete<Result>(work: Promise<Result>): Promise<Result> {
    let isOver = false;
    const end = () => {
      isOver = true;
    };
    work.then(end, end);
    for (;;) {
      await this.#settle();
      if (isOver) return work;
      this.time.runNext(Number.POSITIVE_INFINITY);
    }
  }
}
