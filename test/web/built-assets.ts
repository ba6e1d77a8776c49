import { join } from 'node:path';
import { type Assets, loadAssets } from '../../src/pages/assets.ts';

const WEB = join(import.meta.dirname, '../../dist/web');

let assets: Assets | null = null;

/** The pages as the build made them, read once in a process. */
export function builtAssets(): Assets {
  assets ??= loadAssets(WEB);
  return assets;
}
