// `npm run count` prints how large the code is: files, and lines without blank lines and comments. Circles of imports
// are looked for by scripts/levels.mjs.
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { ROOT } from './prepare.mjs';

for (const folder of ['src', 'test', 'bench']) {
  const names = readdirSync(join(ROOT, folder), { recursive: true, encoding: 'utf8' });
  const files = names.filter((name) => name.endsWith('.ts'));
  const lines = files.reduce((sum, name) => sum + codeLines(readFileSync(join(ROOT, folder, name), 'utf8')), 0);
  console.log(`${folder.padEnd(6)}${String(files.length).padStart(6)} files${String(lines).padStart(8)} lines of code`);
}

/** The lines that are neither blank nor part of a comment that begins its line. */
function codeLines(text) {
  const bare = text.replace(/^[ \t]*\/\*[\s\S]*?\*\//gm, '');
  return bare.split('\n').filter((line) => line.trim() !== '' && !line.trim().startsWith('//')).length;
}
