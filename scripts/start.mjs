// `npm start`
import { prepare } from './prepare.mjs';

await prepare();
await import('../dist/main.js');
