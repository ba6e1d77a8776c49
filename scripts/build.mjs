// `npm run build`
import { prepare } from './prepare.mjs';

await prepare({ rebuild: true });
