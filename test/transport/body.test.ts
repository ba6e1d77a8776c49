import type { HttpResponse } from 'uWebSockets.js';
import { expect, it } from 'vitest';
import { BodyReader } from '../../src/transport/body.ts';
import type { HttpLimits } from '../../src/transport/http-limits.ts';
import { SharedPool } from '../../src/transport/shares.ts';

type Give = (piece: Buffer, isLast: boolean) => void;

function reader(maxBytes: number): { reader: BodyReader; give: Give; budget: SharedPool } {
  let onData: (chunk: ArrayBuffer, isLast: boolean) => void = () => {};
  const response = {
    onData(listener: typeof onData) {
      onData = listener;
    },
    pause: () => undefined,
    resume: () => undefined,
  } as unknown as HttpResponse;
  const budget = new SharedPool(maxBytes, maxBytes);
  const limits = { maxUnauthenticatedBodyBytes: maxBytes } as HttpLimits;
  const made = BodyReader.open({ limits, budgets: { small: budget, large: budget } }, response, maxBytes);
  made.admit('store');
  const give: Give = (piece, isLast) => onData(new Uint8Array(piece).buffer, isLast);
  return { reader: made, give, budget };
}

it.each([[1], [2, 3, 4], [500], [1, 70_000, 1], [70_000, 1, 1, 200_000, 3]])(
  'is the pieces in their order, whatever their sizes',
  async (...sizes) => {
    const whole = Buffer.from(Array.from({ length: sizes.reduce((sum, size) => sum + size) }, (_, n) => n % 251));
    const { reader: made, give, budget } = reader(whole.length);
    let at = 0;
    for (const size of sizes) {
      give(whole.subarray(at, at + size), false);
      at += size;
    }
    give(Buffer.alloc(0), true);
    const outcome = await made.outcome;
    expect(outcome.kind === 'complete' && outcome.bytes.equals(whole)).toBe(true);
    expect([budget.taken, budget.callers]).toEqual([whole.length, 1]);
    made.release();
    expect([budget.taken, budget.callers]).toEqual([0, 0]);
  },
);

it('takes no more memory in pieces of one byte than its bytes, several times over', async () => {
  const pieces = 1_000_000;
  const { reader: made, give } = reader(pieces);
  const one = Buffer.from('x');
  const bytesNow = () => process.memoryUsage().rss;
  const before = bytesNow();
  for (let piece = 1; piece <= pieces; piece++) give(one, false);
  // A Buffer for each piece takes over 100 MB; what is thrown away meanwhile takes some of the young memory.
  expect(bytesNow() - before).toBeLessThan(64_000_000);
  give(Buffer.alloc(0), true);
  const outcome = await made.outcome;
  expect(outcome.kind === 'complete' && outcome.bytes.length).toBe(pieces);
});
