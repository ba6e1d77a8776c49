// `npm run -s sameday -- …` is the operator's command line. Only the command writes to standard output.
import { prepare } from './prepare.mjs';

process.env.SAMEDAY_COMMAND ??= 'npm run -s sameday --';
// npm runs in the project's folder, and says in which one it was called.
process.env.SAMEDAY_FOLDER = process.env.INIT_CWD ?? process.cwd();

await prepare({ onlyMissing: true });
await import('../dist/cli.js');
