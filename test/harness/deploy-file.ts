import { readFileSync } from 'node:fs';
import { join } from 'node:path';

const DEPLOY = join(import.meta.dirname, '../../deploy');

/**
 * The text of a file of deploy/ with changes, one after the other, so that what is documented is what is tested.
 *
 * @throws {Error} where one of them finds nothing to change
 */
export function deployFile(name: string, changes: Readonly<Record<string, string>>): string {
  return Object.entries(changes).reduce(
    (text, [from, to]) => {
      if (!text.includes(from)) throw new Error(`deploy/${name} has no ${from}`);
      return text.replaceAll(from, to);
    },
    readFileSync(join(DEPLOY, name), 'utf8'),
  );
}
