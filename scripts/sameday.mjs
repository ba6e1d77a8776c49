// `npm run -s sameday -- …`: the operator's command line. Standard output is the command's alone.
import { prepare } from './prepare.mjs';

await prepare({ onlyMissing: true });
await import('../dist/cli.js');
