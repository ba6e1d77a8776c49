import { expect, test } from 'vitest';
import { twilioToken } from '../../src/app/vendors.ts';
import { type Config, parseConfig } from '../../src/config.ts';

const tokenOf = (changes: Partial<Config>): string => twilioToken({ ...parseConfig({ SANDBOX: '1' }), ...changes });

test('nobody can guess the token by which the sandbox believes its stand-in for Twilio', () => {
  const databaseUrl = 'postgres://sameday:secret@db.example/sameday';
  const whole = tokenOf({});
  const apart = tokenOf({ roles: new Set(['api']), databaseUrl });
  for (const token of [whole, apart]) expect(token).toMatch(/^[0-9a-f]{32,}$/);
  // The worker that runs apart knows no more than the address of the database, which holds a password.
  expect(tokenOf({ roles: new Set(['worker']), databaseUrl })).toBe(apart);
  expect(tokenOf({ roles: new Set(['api']), databaseUrl: `${databaseUrl}2` })).not.toBe(apart);
});
