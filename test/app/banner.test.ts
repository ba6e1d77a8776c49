import { expect, test } from 'vitest';
import { welcome } from '../../src/app/banner.ts';
import type { Sandbox } from '../../src/app/sandbox.ts';
import { parseConfig } from '../../src/config.ts';

/** What the terminal shows of a sandbox with so many simulated drivers. */
function banner(drivers: number): string {
  const sandbox: Sandbox = { retailerId: 'store', apiKey: 'sdk_key', drivers, yourDriverToken: 'sdd_token' };
  const service = { url: 'http://127.0.0.1:8080', sandbox, close: async () => undefined };
  return welcome(parseConfig({}), service);
}

test('a sandbox with simulated drivers says that they come, and what becomes of orders they do not take', () => {
  const text = banner(20);
  expect(text).toContain('20 simulated drivers do the driving');
  expect(text).toContain('the driver comes, picks up and delivers');
  expect(text).toContain('expires after 10 minutes');
  expect(text).toContain('webhook list');
});

test('a sandbox with simulated drivers shows how to create orders that are ready later, each a body that fits', () => {
  const [, command = ''] = /-d '(\{[^\n]*"ready_at"[^\n]*\})'; done/.exec(banner(20)) ?? [];
  expect(command).toContain('new Date(Date.now() + $m * 6e4).toISOString()');
  const body = JSON.parse(command.replace(/'\$\(.*?\)'(?=")/, '2026-11-22T17:00:00.000Z')) as { ready_at: string };
  expect(body).toMatchObject({ retailer_id: 'store', ready_at: '2026-11-22T17:00:00.000Z' });
  expect(banner(0)).not.toContain('ready_at');
});

test('a sandbox without them promises no driver, no webhook and no end of what waits', () => {
  const text = banner(0);
  expect(text).toContain('no driver is simulated');
  expect(text).toContain('the order waits until you drive, as\nSIMULATED_DRIVERS is 0.');
  expect(text).not.toMatch(/driver comes|0 simulated|few drivers|expires after|that wait, all but|webhook list/);
  for (const each of [text, banner(1)]) {
    expect(each).toContain('sign in with sdd_token');
    expect(each).toContain('http://127.0.0.1:8080/docs     (every request');
  }
});

test('its lines fit a terminal, but for those with a token or a command in them', () => {
  for (const drivers of [0, 1, 20, 200]) {
    const long = banner(drivers)
      .split('\n')
      .filter((line) => line.length > 130 && !/curl|-d '|-b '/.test(line));
    expect(long).toEqual([]);
  }
});
