import type { TierId } from '../../../src/domain/tier.ts';
import type { Point } from '../../../src/geo/point.ts';
import type { BankAnswer, Step } from './commands.ts';
import type { Model } from './model.ts';
import type { Answer } from './nouns.ts';
import type { PlaceDriver, PlaceStore } from './place.ts';

export type WantedOrder = {
  readonly tierId: TierId;
  readonly key: string | null;
  readonly body: number;
};

/** The system under test: the operations in this process, or the service over HTTP. */
export type System = {
  /**
   * Whether the process that takes an order knows all earlier events, so that the best driver gets it at
   * once.
   */
  readonly isExact: boolean;
  readonly convergeMs: number;
  /** Called with the time that each command took until memory and tables agreed. */
  converged(ms: number): void;
  create(store: PlaceStore, order: WantedOrder): Promise<Answer>;
  cancel(store: PlaceStore, orderId: string, reason: string, key: string | null): Promise<Answer>;
  cancelByOperator(orderId: string): Promise<boolean>;
  returnByOperator(orderId: string): Promise<boolean>;
  nudge(orderId: string): Promise<unknown>;
  setDuty(driver: PlaceDriver, onDuty: boolean): Promise<Answer>;
  move(driver: PlaceDriver, to: Point): Promise<unknown>;
  step(step: Step, driver: PlaceDriver, orderId: string, actionId: string | null): Promise<Answer>;
  expire(orderId: string, isDue: boolean): Promise<unknown>;
  suspend(store: PlaceStore, active: boolean): Promise<unknown>;
  deactivate(driver: PlaceDriver): Promise<unknown>;
  sweep(): Promise<unknown>;
  charge(orderId: string, bank: BankAnswer): Promise<Answer>;
  refund(orderId: string, bank: BankAnswer): Promise<Answer>;
  /** How its memory differs from the model; null where they agree or it cannot be read. */
  memoryDiffers(model: Model): string | null;
  /** Completes what these orders owe, and compares all records with the model. */
  conclude(model: Model): Promise<string | null>;
};
