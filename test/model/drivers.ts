import type { Habit } from './commands.ts';
import { type At, metersBetween, type OrderRow } from './picture.ts';

/** Meters that a driver comes in a second. */
const SPEED = 10;
const THERE_METERS = 30;

/** What a driver does next: takes a step with an order, or drives there. */
export type NextStep = { readonly order: OrderRow; readonly kind: 'pickUp' | 'deliver' | 'returned'; readonly at: At };

/** A driver of the town, and where they are. */
export class Walker {
  readonly id: string;
  at: At;
  habit: Habit = 'stands';
  /** The process that their phone reports to. */
  process: number;
  #goal: At | null = null;

  constructor(id: string, at: At, process: number) {
    this.id = id;
    this.at = at;
    this.process = process;
  }

  /** Sends them somewhere. */
  go(to: At, atOnce: boolean): void {
    this.#goal = atOnce ? null : to;
    if (atOnce) this.at = to;
  }

  /** Moves on for some seconds; returns the step that they take. */
  move(seconds: number, carried: readonly OrderRow[], nowMs: number): NextStep | null {
    if (this.habit === 'stands') return null;
    const isStuck = this.habit === 'stalls' && carried.some(({ status }) => status !== 'driver_assigned');
    if (isStuck) return null;
    const next = this.habit === 'silent' ? null : nextStep(carried, nowMs);
    const goal = next?.at ?? this.#goal;
    if (!goal) return null;
    this.#drive(goal, seconds * SPEED);
    if (metersBetween(this.at, goal) > THERE_METERS) return null;
    if (!next) this.#goal = null;
    return next && isReady(next, nowMs) ? next : null;
  }

  #drive(goal: At, meters: number): void {
    const left = metersBetween(this.at, goal);
    const share = left <= meters ? 1 : meters / left;
    const { lat, lng } = this.at;
    this.at = { lat: lat + (goal.lat - lat) * share, lng: lng + (goal.lng - lng) * share };
  }
}

/** What comes next of what a driver carries: first what is fetched, then what is brought. */
export function nextStep(carried: readonly OrderRow[], nowMs: number): NextStep | null {
  const fetch = carried.find(({ status, readyMs }) => status === 'driver_assigned' && (readyMs ?? 0) <= nowMs);
  if (fetch) return { order: fetch, kind: 'pickUp', at: fetch.pickup };
  const bring = carried.find(({ status }) => status === 'picked_up');
  if (bring) return { order: bring, kind: 'deliver', at: bring.door ?? bring.pickup };
  const back = carried.find(({ status }) => status === 'undeliverable');
  if (back) return { order: back, kind: 'returned', at: back.pickup };
  const wait = carried.find(({ status }) => status === 'driver_assigned');
  return wait ? { order: wait, kind: 'pickUp', at: wait.pickup } : null;
}

const isReady = ({ order, kind }: NextStep, nowMs: number) => kind !== 'pickUp' || (order.readyMs ?? 0) <= nowMs;
