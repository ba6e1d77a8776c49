import { existsSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { parseConfig } from '../../src/config.ts';
import { lackOfRoom, MIN_FREE_DISK_BYTES, makeDataDir } from '../../src/runtime/data-dir.ts';
import { StartError } from '../../src/runtime/start-error.ts';
import { newDataDir } from '../harness/service.ts';

const PRODUCTION = {
  DATABASE_URL: 'postgres://u:p@h/d',
  REDIS_URL: 'redis://h',
  BASE_URL: 'https://sameday.test',
  STRIPE_SECRET_KEY: 'sk_test_1',
  TWILIO_ACCOUNT_SID: 'AC1',
  TWILIO_AUTH_TOKEN: 'token',
  TWILIO_FROM: '+15005550006',
};
const BUCKET = { S3_BUCKET: 'photos', S3_REGION: 'us-east-1', S3_ACCESS_KEY_ID: 'id', S3_SECRET_ACCESS_KEY: 'key' };

function folder(): string {
  const data = newDataDir();
  onTestFinished(data.remove);
  return data.dataDir;
}

test('the folder is made with those above it, where something is written into it', () => {
  const dir = folder();
  const madeFor = (name: string, env: Record<string, string>): boolean => {
    makeDataDir(parseConfig({ ...env, DATA_DIR: join(dir, name, 'new') }));
    return existsSync(join(dir, name, 'new'));
  };
  expect(madeFor('sandbox', {})).toBe(true);
  expect(madeFor('other', { SANDBOX: '1', DATABASE_URL: PRODUCTION.DATABASE_URL })).toBe(true);
  expect(madeFor('photos', PRODUCTION)).toBe(true);
  expect(madeFor('bucket', { ...PRODUCTION, ...BUCKET })).toBe(false);
  expect(madeFor('worker', { ...PRODUCTION, ROLES: 'worker' })).toBe(false);
});

test('a start on a folder that cannot be made names DATA_DIR and the folder', () => {
  const file = join(folder(), 'file');
  writeFileSync(file, '');
  const config = parseConfig({ DATA_DIR: join(file, 'new') });
  expect(() => makeDataDir(config)).toThrow(StartError);
  expect(() => makeDataDir(config)).toThrow(`DATA_DIR cannot be made or written into: ${config.dataDir} (ENOTDIR).`);
});

test('a disk that is almost full is told before no delivery ends any more', () => {
  expect(lackOfRoom(MIN_FREE_DISK_BYTES)).toBeNull();
  expect(lackOfRoom(MIN_FREE_DISK_BYTES - 1)).toBe('has 255 MB of its disk left: make room, at least 256 MB');
});
