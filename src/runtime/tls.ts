import { X509Certificate } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { createSecureContext } from 'node:tls';
import type { Config } from '../config.ts';
import { errorFields } from '../telemetry.ts';
import { StartError } from './start-error.ts';

/**
 * Reads certificate and key as the transport will, which does not say what is wrong with them.
 *
 * @returns when the certificate ends; null where this process does no TLS
 * @throws {StartError} naming the setting
 */
export function checkTls({ tls, roles }: Pick<Config, 'tls' | 'roles'>): Date | null {
  if (!tls || !roles.has('api')) return null;
  const cert = readSetting('TLS_CERT_FILE', tls.certFile);
  const key = readSetting('TLS_KEY_FILE', tls.keyFile);
  try {
    createSecureContext({ cert, key });
    return new Date(new X509Certificate(cert).validTo);
  } catch (error) {
    const { code = 'unknown' } = errorFields(error);
    throw new StartError(
      `TLS_CERT_FILE and TLS_KEY_FILE cannot be used together (${code}). Both are PEM files, the key without a ` +
        'passphrase, and the first certificate is that of the key.',
      { cause: error },
    );
  }
}

function readSetting(name: string, file: string): Buffer {
  try {
    return readFileSync(file);
  } catch (error) {
    throw new StartError(`The file of ${name} cannot be read: ${file} (${errorFields(error).code}).`, { cause: error });
  }
}
