import { pino } from 'pino';
import { vi } from 'vitest';
import { startService } from '../../src/app/start.ts';
import { parseConfig } from '../../src/config.ts';
import * as telemetry from '../../src/telemetry.ts';
import { type Environment, type Running, SANDBOX_ENV } from './service.ts';

/** A service in this process. What needs a process of its own, as a signal or an exit code, needs a built one. */
export type ServiceHere = Pick<Running, 'url' | 'dataDir' | 'output'> & { stop(): Promise<void> };

/** Starts the service in this process, with the settings of a built one. Its output is what it says and its log. */
export async function startServiceHere(env: Environment): Promise<ServiceHere> {
  const config = parseConfig({ ...SANDBOX_ENV, ...env });
  const ended = (reason: string) => {
    throw new Error(`The service ended: ${reason}`);
  };
  let output = '';
  const write = (text: string): void => {
    output += text;
  };
  const logger = (level: string) => pino({ level, base: { pid: process.pid } }, { write });
  const spies = [
    vi.spyOn(telemetry, 'createLogger').mockImplementation(logger),
    vi.spyOn(telemetry, 'createGatheringLogger').mockImplementation(() => logger('info')),
  ];
  try {
    const service = await startService(config, (line) => write(`${line}\n`), ended);
    return { url: service.url ?? '', dataDir: config.dataDir, output: () => output, stop: () => service.close() };
  } finally {
    for (const spy of spies) spy.mockRestore();
  }
}
