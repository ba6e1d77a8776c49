import { expect, it } from 'vitest';
import { DAY_MS } from '../harness/patience.ts';
import { useModelDatabase } from './database.ts';
import { MUTATIONS } from './mutations.ts';
import { runSeed } from './run.ts';

/** A planted bug is found by one of so many days. */
const SEEDS = 20;

const database = useModelDatabase();

for (const { name, about, kinds, seed: likely, plant } of MUTATIONS) {
  it(`finds ${name}: ${about}`, { timeout: (SEEDS + 1) * DAY_MS }, async () => {
    const parts = { database: database(), plant, heeds: (kind: string) => kinds.includes(kind) };
    let found: string | null = null;
    const seeds = new Set([likely, ...Array.from({ length: SEEDS }, (_, i) => i + 1)]);
    for (const seed of seeds) {
      if (found) break;
      const finding = await runSeed(parts, seed);
      if (finding) found = `seed ${seed}: ${finding.text}`;
    }
    expect(found).not.toBeNull();
  });
}
