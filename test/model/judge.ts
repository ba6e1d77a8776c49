import type { Sql } from '../../src/postgres/connect.ts';
import type { Finding } from './day.ts';
import { type Choice, type Gift, giftsOf, namedDrivers, wrongGift } from './gifts.ts';
import { Knowledge } from './knowledge.ts';
import { Liveness } from './liveness.ts';
import { type At, type Picture, readPicture, readTiers, type TierRow } from './picture.ts';
import type { ModelProcess } from './process.ts';
import type { Call, Witness } from './statements.ts';
import type { VirtualTime } from './virtual-time.ts';

/** So long after a trouble a process knows everything that was committed before. */
const CATCHES_UP_MS = 20_000;

type ReadDriver = { readonly id: string; readonly position: (At & { readonly atMs: number }) | null };

/**
 * Judges every assignment at its statement, by the tables just before it and by what its process could know when
 * it sent the statement, and watches that who could be given is given. It shares no code with what it judges.
 */
export class Judge implements Witness {
  readonly knowledge = new Knowledge();
  /** The command that is carried out. */
  command = 0;
  finding: Finding | null = null;
  /** The gifts that were judged: when, which order of the day, and whose it is. */
  readonly gifts: string[] = [];
  readonly #sql: Sql;
  readonly #time: VirtualTime;
  readonly #liveness = new Liveness(this.knowledge, [0, 1]);
  readonly #choices = new WeakMap<Call, ReadonlyMap<string, Choice>>();
  readonly #before = new WeakMap<Call, Picture>();
  #tiers = new Map<string, TierRow>();

  readonly #heeds: (kind: string) => boolean;

  /** @param heeds whether a kind of finding counts */
  constructor(sql: Sql, time: VirtualTime, heeds: (kind: string) => boolean = () => true) {
    this.#heeds = heeds;
    this.#sql = sql;
    this.#time = time;
  }

  async begin(): Promise<void> {
    this.#tiers = await readTiers(this.#sql);
  }

  found(kind: string, text: string): void {
    if (!this.#heeds(kind)) return;
    this.finding ??= { kind, text, command: this.command, atMs: this.#time.nowMs };
  }

  modeChanged(tier: string, mode: string): void {
    const row = this.#tiers.get(tier);
    if (row) this.#tiers.set(tier, { ...row, mode });
    this.#liveness.forget();
  }

  sent(call: Call): void {
    const drivers = namedDrivers(call);
    if (drivers.length === 0) return;
    const choices = drivers.map((id): [string, Choice] => [
      id,
      { positions: this.knowledge.positionsOf(call.process, id, call.sentMs) },
    ]);
    this.#choices.set(call, new Map(choices));
  }

  async before(call: Call): Promise<void> {
    if (this.#choices.has(call)) this.#before.set(call, await readPicture(this.#sql));
  }

  after(call: Call, result: unknown): void {
    const picture = this.#before.get(call);
    if (!picture) return;
    const gifts = giftsOf(call, picture);
    const isMade = (gift: Gift) => wasMade(call, result, gift);
    if (gifts.length === 0 && (result as { kind?: unknown }).kind === 'assigned') {
      this.found('ended', `${String(call.args[0])} was not open`);
    }
    for (const gift of gifts.filter(isMade)) this.#judge(gift, call, picture);
  }

  answered({ process, name, sentMs }: Call, result: unknown): void {
    if (name === 'loadFleet') this.knowledge.read(process, result as readonly ReadDriver[], sentMs);
  }

  /** Whether something waits beside somebody who could take it. */
  get isWatching(): boolean {
    return this.#liveness.isWatching;
  }

  /** Looks at what waits, some times a minute. */
  look(picture: Picture, sinceTroubleMs: number, processes: readonly ModelProcess[]): void {
    const nowMs = this.#time.nowMs;
    for (const { number, line } of processes) {
      const calmMs = Math.max(sinceTroubleMs, line.troubledMs);
      if (nowMs - calmMs > CATCHES_UP_MS) this.knowledge.heardAllSince(number, nowMs - CATCHES_UP_MS);
    }
    if (sinceTroubleMs === nowMs) {
      this.#liveness.forget();
      return;
    }
    const late = this.#liveness.look(picture, this.#tiers, nowMs);
    if (late) this.found(late.split(':', 1)[0] ?? '', late);
  }

  #judge(gift: Gift, call: Call, picture: Picture): void {
    const since = Math.round(gift.order.createdMs);
    this.gifts.push(`${this.#time.nowMs} of ${since} to ${gift.driverId} by ${call.process}`);
    const choice = this.#choices.get(call)?.get(gift.driverId) ?? { positions: [] };
    const parts = { call, nowMs: this.#time.nowMs, tiers: this.#tiers, knowledge: this.knowledge };
    const wrong = wrongGift(gift, picture, choice, parts);
    if (!wrong) return;
    const planned = call.name === 'assignWaiting' && call.args[3] ? 'as planned' : 'at once';
    this.found(
      wrong.split(':', 1)[0] ?? '',
      `${wrong}: order ${gift.order.id} is given to driver ${gift.driverId} ${planned} by process ${call.process}`,
    );
  }
}

function wasMade(call: Call, result: unknown, { order }: Gift): boolean {
  if (call.name === 'assignWaiting') return (result as { readonly kind: string }).kind === 'assigned';
  return (result as ReadonlyMap<string, unknown>).get(order.id) != null;
}
