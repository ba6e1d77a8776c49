import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, onTestFinished, test, vi } from 'vitest';
import { MAX_IMPORT_BYTES, MAX_IMPORT_LINES } from '../../src/cli/csv-file.ts';
import { readImportFile } from '../../src/commands/import-file.ts';
import { readOverlap } from '../../src/commands/keys.ts';

const folder = mkdtempSync(join(tmpdir(), 'sameday-import-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

function read(text: string | Buffer) {
  const file = join(folder, 'stores.csv');
  writeFileSync(file, text);
  return readImportFile(file);
}

const HEADER = 'name,address,contact_email';
const GOOD = 'Corner Market,"1 Main St, Denver, CO 80202",a@example.com';

test('takes quotes, a byte order mark, CRLF, empty lines and columns in any order', () => {
  const text = [
    '\ufeffContact_Email,NAME,address,lat,lng,external_id',
    'a@example.com,"Joe ""The"" Grocer","1 Main St, Denver, CO 80202",39.75,-104.99,"7, west"',
    '',
    'b@example.com,Zoë’s,2 Main St,,,',
    '',
  ].join('\r\n');
  expect(read(text)).toEqual([
    {
      line: 2,
      row: {
        name: 'Joe "The" Grocer',
        address: '1 Main St, Denver, CO 80202',
        contactEmail: 'a@example.com',
        point: { lat: 39.75, lng: -104.99 },
        externalId: '7, west',
      },
    },
    {
      line: 4,
      row: { name: 'Zoë’s', address: '2 Main St', contactEmail: 'b@example.com', point: null, externalId: null },
    },
  ]);
});

test('a file is found from the folder in which the command was typed', () => {
  vi.stubEnv('SAMEDAY_FOLDER', folder);
  onTestFinished(() => void vi.unstubAllEnvs());
  writeFileSync(join(folder, 'typed.csv'), `${HEADER}\n${GOOD}`);
  expect(readImportFile('typed.csv')).toHaveLength(1);
});

test.each([
  ['an empty name', '"",1 Main St,a@example.com', 'name'],
  ['a control character', 'Joe\u001b[31m,1 Main St,a@example.com', 'name'],
  ['an override of direction', 'Joe,1 \u202eMain St,a@example.com', 'address'],
  ['a line feed in a value', '"Joe\nInc",1 Main St,a@example.com', 'name'],
  ['no e-mail address', 'Joe,1 Main St,nobody', 'contact_email'],
  ['too few values', 'Joe,1 Main St', ''],
  ['too many values', 'Joe,1 Main St,a@example.com,7', ''],
])('names the line and the field of %s, and goes on', (_what, bad, field) => {
  const lines = read([HEADER, GOOD, bad, GOOD].join('\n'));
  expect(lines).toHaveLength(3);
  expect(lines[1]).toMatchObject({ line: bad.includes('\n') ? 4 : 3, problem: { field, message: expect.any(String) } });
  for (const index of [0, 2]) expect(lines[index]).toHaveProperty('row');
});

test.each([
  ['stands within a value', 'Joe,1 "Main" St,a@example.com', 'Line 3 is'],
  ['is behind an end', 'Joe,"1 Main St" 2,a@example.com', 'Line 3 is'],
  ['is never closed', '"Joe,1 Main St,a@example.com', 'Lines 3 to 4 are'],
  ['ends lines later', '"Joe,1 Main St,a@example.com\nJoe,"1 Main St",a@example.com', 'Lines 3 to 4 are'],
])('refuses a file with a quote that %s, and names its lines', (_what, bad, where) => {
  expect(() => read([HEADER, GOOD, bad, 'Jo,2 Main St,b@example.com', ''].join('\n'))).toThrow(`${where} not CSV: `);
});

test.each([
  ['91,0', 'lat'],
  ['x,0', 'lat'],
  [',0', 'lat'],
  ['0x10,0', 'lat'],
  ['10,', 'lng'],
  ['10,181', 'lng'],
])('refuses the point %s by its field', (point, field) => {
  expect(read(`${HEADER},lat,lng\n${GOOD},${point}`)).toMatchObject([{ line: 2, problem: { field } }]);
});

test.each([
  ['without a column', 'name,address\nJoe,1 Main St'],
  ['with a column that nobody knows', `${HEADER},adress\n${GOOD},x`],
  ['with a column twice', `${HEADER},name\n${GOOD},x`],
  ['without a line', ''],
  ['in another encoding', Buffer.from([0x6e, 0xe9, 0x0a])],
  ['with too many bytes', Buffer.alloc(MAX_IMPORT_BYTES + 1, 'a')],
  ['with too many lines', `${HEADER}\n${'a,b,c@d.ee\n'.repeat(MAX_IMPORT_LINES + 1)}`],
])('refuses a file %s', (_what, content) => {
  expect(() => read(content)).toThrow(/^The f/);
});

test.each([
  ['30m', 1_800],
  ['24h', 86_400],
  ['7d', 7 * 86_400],
])('takes an overlap of %s', (text, seconds) => {
  expect(readOverlap(text)).toBe(seconds);
});

test.each(['0m', '8d', '169h', '1', 'h', '1.5h', '-1h', '24 h', '', '1w'])('refuses an overlap of “%s”', (text) => {
  expect(() => readOverlap(text)).toThrow('--overlap takes a time');
});
