// `npm run -s sameday -- …` is the operator's command line. Only the command writes to standard output.
import { prepare } from './prepare.mjs';

process.env.SAMEDAY_COMMAND ??= 'npm run -s sameday --';
// npm runs in the project's folder, and says in which one it was called, also to what another script of it starts.
const { npm_lifecycle_event: script, INIT_CWD: calledIn } = process.env;
process.env.SAMEDAY_FOLDER = (script === 'sameday' && calledIn) || process.cwd();

await prepare({ onlyMissing: true });
await import('../dist/cli.js');
