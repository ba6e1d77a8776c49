// `npm run -s sameday -- …` is the operator's command line. Only the command writes to standard output.
import { prepare } from './prepare.mjs';

await prepare({ onlyMissing: true });
await import('../dist/cli.js');
