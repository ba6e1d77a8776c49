import { startService } from '../../src/app/start.ts';
import { parseConfig } from '../../src/config.ts';
import { type Environment, type Running, SANDBOX_ENV } from './service.ts';

/** A service in this process. What needs a process of its own, as a signal or its output, needs a built one. */
export type ServiceHere = Pick<Running, 'url' | 'dataDir'> & { stop(): Promise<void> };

/** Starts the service in this process, with the settings of a built one, and silent. */
export async function startServiceHere(env: Environment): Promise<ServiceHere> {
  const config = parseConfig({ ...SANDBOX_ENV, LOG_LEVEL: 'silent', ...env });
  const ended = (reason: string) => {
    throw new Error(`The service ended: ${reason}`);
  };
  const service = await startService(config, () => undefined, ended);
  return { url: service.url ?? '', dataDir: config.dataDir, stop: () => service.close() };
}
