import { setTimeout as sleep } from 'node:timers/promises';
import { doAtOnce } from './at-once.ts';
import { serve, tellParent } from './sockets-child.ts';
import { driveOf } from './sockets-drive.ts';
import { Frames } from './sockets-frames.ts';
import { clockMs, frameOf, Line } from './sockets-line.ts';
import { ProblemList, type Problems } from './sockets-problems.ts';
import { CHECK_EVERY, isChecked, type Sending, type Sent, type Taken } from './sockets-reports.ts';
import { driverToken } from './sockets-world.ts';

/** Interval at which due reports are written. */
const TURN_MS = 4;
const OPENING_AT_ONCE = 100;
/** Drivers whose bursts are written before this process reads answers. */
const BURST_TURN = 250;
const PATIENCE_MS = 120_000;
/** Interval at which the parent is told what was accepted. */
const TELL_MS = 20;
const PING = frameOf('{"type":"ping"}');
/** Age of a position when it is sent, so that no clock's error puts it into the future. */
const FIX_AGE_MS = 20;

type Asked = { readonly driver: number; readonly step: number; readonly sentMs: number };
type Phone = { line: Line | null; ready: () => void; readonly asked: Asked[] };
/** A ping that follows no single report. */
const LAST = -1;

/** Calls from the parent to a process that plays all drivers' phones. */
export function servePhones(): void {
  let phones: Phones | null = null;
  serve({
    async open({ port, drivers }: { port: number; drivers: number }) {
      phones = new Phones(drivers);
      return phones.open(port);
    },
    prepare: (sending: Sending) => phones?.prepare(sending),
    go: () => phones?.go(),
    drain: () => phones?.drain(),
    problems: () => phones?.problems(),
    close: () => phones?.close(),
  });
}

class Phones {
  readonly #phones: Phone[];
  readonly #placeOf: ReturnType<typeof driveOf>;
  #answersMs: number[] = [];
  #taken: Taken = { drivers: [], steps: [] };
  #owed = 0;
  #prepared: { readonly sending: Sending; readonly frames: Frames } | null = null;
  readonly #problems = new ProblemList();

  constructor(drivers: number) {
    this.#placeOf = driveOf(drivers);
    this.#phones = Array.from({ length: drivers }, () => ({ line: null, ready: () => undefined, asked: [] }));
  }

  /** Opens a socket for each driver; resolves with the time until all have their state. */
  async open(port: number): Promise<number> {
    const startedMs = clockMs();
    await doAtOnce(this.#phones.length, OPENING_AT_ONCE, (index) => this.#openOne(port, index));
    return clockMs() - startedMs;
  }

  async #openOne(port: number, index: number): Promise<void> {
    const phone = this.#phones[index] as Phone;
    phone.line = await Line.open(port, '/driver/live', {
      text: (payload, atMs) => this.#heard(phone, payload, atMs),
      ended: (why) => this.#lost(phone, why),
    });
    const { line } = phone;
    await new Promise<void>((resolve, reject) => {
      const late = setTimeout(() => reject(new Error('a driver did not get their state')), PATIENCE_MS);
      phone.ready = () => {
        clearTimeout(late);
        resolve();
      };
      line.write(frameOf(JSON.stringify({ type: 'hello', token: driverToken(index) })));
    });
  }

  #heard(phone: Phone, payload: Buffer, atMs: number): void {
    const text = payload.toString('latin1');
    if (text.startsWith('{"type":"state"')) {
      phone.ready();
      return;
    }
    const asked = text === '{"type":"pong"}' ? phone.asked.shift() : undefined;
    if (!asked) {
      this.#problems.add(`a driver was told: ${text}`);
      return;
    }
    this.#owed -= 1;
    if (asked.step === LAST) return;
    this.#answersMs.push(atMs - asked.sentMs);
    this.#taken.drivers.push(asked.driver);
    this.#taken.steps.push(asked.step);
  }

  /** Prepares all messages, so that sending is only writing. */
  prepare(sending: Sending): void {
    const { firstStep, rounds, perSecond } = sending;
    const drivers = this.#phones.length;
    const inTurn = (at: number) => this.#placeOf(at % drivers, firstStep + Math.floor(at / drivers));
    const atOnce = (at: number) => this.#placeOf(Math.floor(at / rounds), firstStep + (at % rounds));
    this.#prepared = { sending, frames: new Frames(drivers * rounds, perSecond === null ? atOnce : inTurn) };
  }

  go(): Promise<Sent> {
    if (!this.#prepared) throw new Error('nothing is prepared');
    const { sending, frames } = this.#prepared;
    const { rounds, perSecond, firstStep } = sending;
    const drivers = this.#phones.length;
    const run =
      perSecond === null ? () => this.#burst(frames, rounds) : () => this.#inTurn(frames, firstStep, rounds, perSecond);
    return this.#measured(drivers * rounds, run);
  }

  /** Resolves with the largest delay against the plan. */
  async #inTurn(frames: Frames, firstStep: number, rounds: number, perSecond: number): Promise<number> {
    const total = this.#phones.length * rounds;
    const perMs = (perSecond * this.#phones.length) / 1_000;
    const startedMs = clockMs();
    let lateMs = 0;
    for (let count = 0; count < total; await sleep(TURN_MS)) {
      const due = Math.min(total, Math.floor((clockMs() - startedMs) * perMs));
      lateMs = Math.max(lateMs, (due - count) / perMs - TURN_MS);
      const time = new Date(Date.now() - FIX_AGE_MS).toISOString();
      for (; count < due; count++) this.#sendOne(frames, count, firstStep, time);
    }
    return lateMs;
  }

  #sendOne(frames: Frames, count: number, firstStep: number, time: string): void {
    const index = count % this.#phones.length;
    const round = Math.floor(count / this.#phones.length);
    frames.stamp(count, time);
    this.#phones[index]?.line?.write(frames.of(count));
    if (isChecked(count, round)) this.#ask(index, firstStep + round);
  }

  async #burst(frames: Frames, rounds: number): Promise<number> {
    const fixedMs = Date.now() - FIX_AGE_MS - rounds;
    const times = Array.from({ length: rounds }, (_, at) => new Date(fixedMs + at).toISOString());
    for (const [index, { line }] of this.#phones.entries()) {
      for (const [at, time] of times.entries()) frames.stamp(index * rounds + at, time);
      line?.write(frames.of(index * rounds, rounds));
      if (index % CHECK_EVERY === CHECK_EVERY - 1) this.#ask(index, LAST);
      if (index % BURST_TURN === 0) await sleep(0);
    }
    return 0;
  }

  /** Runs it, then waits until the pings in flight have been answered. */
  async #measured(reports: number, run: () => Promise<number>): Promise<Sent> {
    this.#answersMs = [];
    const telling = setInterval(() => this.#tell(), TELL_MS);
    const cpu = process.cpuUsage();
    const startedMs = clockMs();
    const lateMs = await run();
    await this.#answered();
    const tookMs = clockMs() - startedMs;
    const used = process.cpuUsage(cpu);
    clearInterval(telling);
    this.#tell();
    const cpuMs = (used.user + used.system) / 1_000;
    return { reports, tookMs, lateMs, cpuMs, answersMs: Float64Array.from(this.#answersMs) };
  }

  /**
   * Pings behind every driver's last report, whose answers show that all reports have been processed;
   * resolves with the time.
   */
  async drain(): Promise<number> {
    const startedMs = clockMs();
    for (const index of this.#phones.keys()) this.#ask(index, LAST);
    await this.#answered();
    return clockMs() - startedMs;
  }

  async #answered(): Promise<void> {
    const endMs = clockMs() + PATIENCE_MS;
    while (this.#owed > 0 && clockMs() < endMs) await sleep(1);
    if (this.#owed === 0) return;
    throw new Error(`${this.#owed} pings were not answered in time; ${this.#problems.told().first.join('; ')}`);
  }

  #ask(index: number, step: number): void {
    const phone = this.#phones[index] as Phone;
    if (!phone.line) return;
    phone.line.write(PING);
    phone.asked.push({ driver: index, step, sentMs: clockMs() });
    this.#owed += 1;
  }

  /** Gives this driver up: the run is worthless and need not wait any more. */
  #lost(phone: Phone, why: string): void {
    this.#problems.add(`a driver's socket ended: ${why}`);
    phone.line = null;
    this.#owed -= phone.asked.splice(0).length;
  }

  #tell(): void {
    if (this.#taken.drivers.length > 0) tellParent(this.#taken);
    this.#taken = { drivers: [], steps: [] };
  }

  problems(): Problems {
    return this.#problems.told();
  }

  close(): void {
    for (const { line } of this.#phones) line?.close();
  }
}
