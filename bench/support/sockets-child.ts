import { type ChildProcess, fork } from 'node:child_process';
import { endProcess } from './stop-all.ts';

const ANSWER_MS = 300_000;

type Question = { readonly id: number; readonly name: string; readonly args: unknown };
type Message = { readonly id: number; readonly value?: unknown; readonly error?: string } | { readonly event: unknown };

/** A part of a benchmark in a process of its own, so that it takes no time from what it measures. */
export class Child {
  readonly #process: ChildProcess;
  readonly #waiting = new Map<number, (message: { value?: unknown; error?: string }) => void>();
  #asked = 0;

  /**
   * @param file the running benchmark, which starts itself again with the role as its first argument
   * @param told called with each event of the child
   */
  constructor(file: string, role: string, told: (event: unknown) => void = () => undefined) {
    this.#process = fork(file, [role], { serialization: 'advanced', execArgv: ['--enable-source-maps'] });
    this.#process.on('message', (message: Message) => {
      if ('event' in message) return told(message.event);
      this.#waiting.get(message.id)?.(message);
    });
    this.#process.once('exit', (code, signal) => {
      for (const answer of this.#waiting.values()) answer({ error: `${role} ended with ${code ?? signal}` });
    });
  }

  get pid(): number {
    return this.#process.pid ?? 0;
  }

  ask<Value>(name: string, args: unknown = null): Promise<Value> {
    const id = ++this.#asked;
    return new Promise((resolve, reject) => {
      const late = setTimeout(() => answered({ error: `no answer to ${name} in time` }), ANSWER_MS);
      const answered = ({ value, error }: { value?: unknown; error?: string }) => {
        clearTimeout(late);
        this.#waiting.delete(id);
        if (error === undefined) resolve(value as Value);
        else reject(new Error(error));
      };
      this.#waiting.set(id, answered);
      this.#process.send({ id, name, args } satisfies Question);
    });
  }

  stop(): Promise<void> {
    return endProcess(this.#process, () => this.#process.disconnect());
  }
}

/** The child's side: answers calls by name until its parent is gone. */
export function serve(answers: Readonly<Record<string, (args: never) => unknown>>): void {
  process.on('message', ({ id, name, args }: Question) => {
    void (async () => {
      try {
        const value = await answers[name]?.(args as never);
        process.send?.({ id, value });
      } catch (error) {
        process.send?.({ id, error: error instanceof Error ? error.message : String(error) });
      }
    })();
  });
  process.once('disconnect', () => process.exit(0));
}

export const tellParent = (event: unknown): void => void process.send?.({ event });
