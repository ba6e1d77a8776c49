import { Command } from 'commander';
import type { Config } from '../config.ts';
import type { Act, Work } from './parts.ts';

/** Makes commander's action of the work of a command without a database. */
export type ActAlone = (work: WorkAlone) => (...args: unknown[]) => Promise<void>;

type WorkAlone = (parts: {
  /** The settings as the service reads them. */
  readonly settings: () => Config;
  readonly print: (value: unknown) => void;
  readonly write: (lines: string) => void;
  /** Says something on standard error. */
  readonly tell: (lines: string) => void;
  readonly args: readonly string[];
  readonly options: Readonly<Record<string, unknown>>;
}) => Promise<void>;

/** A command of the operator's command line; those below it run as it does. */
export class CliCommand extends Command {
  readonly act: Act;
  readonly #actAlone: ActAlone;

  constructor(name: string | undefined, act: Act, actAlone: ActAlone) {
    super(name);
    this.act = act;
    this.#actAlone = actAlone;
  }

  override createCommand(name?: string): CliCommand {
    return new CliCommand(name, this.act, this.#actAlone);
  }

  /** Does the work on the database, and prints what it resolves with. */
  runs<Options>(work: Work<Options>): this {
    return this.action(this.act(work));
  }

  /** Does the work without a database. */
  runsAlone(work: WorkAlone): this {
    return this.action(this.#actAlone(work));
  }
}
