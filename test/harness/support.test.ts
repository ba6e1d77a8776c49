import { expect, it } from 'vitest';
import { connect } from '../../src/postgres/connect.ts';
import { freshDatabase } from './database.ts';

it('a test file fails if it leaves a connection open', async () => {
  const database = await freshDatabase();
  const leaked = connect({ url: database.url, applicationName: 'leaked pool', max: 1 });
  await leaked`select 1`;
  // No wait: the connection is there until it is closed below.
  await expect(database.drop(0)).rejects.toThrow(/left open: leaked pool/);
  await leaked.end({ timeout: 1 });
});
