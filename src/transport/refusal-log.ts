import { ServiceError } from '../domain/errors.ts';
import { errorFields, type Logger } from '../telemetry.ts';

/** Logs why a request was refused: an error where it is the service's own, else for debugging. */
export function logRefusal(logger: Logger, error: unknown, request: string, route: string): void {
  if (!(error instanceof ServiceError)) {
    logger.error({ request, route, error: errorFields(error) }, 'request failed');
    return;
  }
  const cause = error.cause === undefined ? {} : { cause: errorFields(error.cause) };
  if (error.code === 'internal') logger.error({ request, route, ...cause }, 'request failed');
  else if (error.code === 'outcome_unknown') logger.warn({ request, ...cause }, 'outcome of a request unknown');
  else logger.debug({ request, code: error.code, ...cause }, 'request refused');
}
