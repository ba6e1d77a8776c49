import type { Config } from '../config.ts';
import { openTransport } from '../transport/transport.ts';
import { asStartError } from './start-error.ts';

/**
 * Listens for a moment, so that a port that is taken is told before the start changes anything.
 *
 * @throws {StartError} where this process is to listen and cannot
 */
export function checkPort({ roles, portIsSet, host, port }: Pick<Config, 'roles' | 'portIsSet' | 'host' | 'port'>) {
  if (port === 0 || !(roles.has('api') || portIsSet)) return;
  const transport = openTransport();
  try {
    transport.listen(host, port);
  } catch (error) {
    asStartError(error);
  } finally {
    transport.close();
  }
}
