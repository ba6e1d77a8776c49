// `npm run -s sameday -- …` is the operator's command line. Only the command writes to standard output.
import { prepare } from './prepare.mjs';

process.env.SAMEDAY_COMMAND ??= 'npm run -s sameday --';

await prepare({ onlyMissing: true });
await import('../dist/cli.js');
