import { parseArgs } from 'node:util';

/**
 * The options of `npm run faults`, which its script and its program read.
 *
 * @satisfies {import('node:util').ParseArgsConfig['options']}
 */
export const OF_FAULTS = {
  row: { type: 'string' },
  from: { type: 'string' },
  scale: { type: 'string' },
  seed: { type: 'string' },
  beside: { type: 'string' },
  'no-results': { type: 'boolean' },
};

/**
 * Reads the options of a command. Where one is wrong, and with `--help`, it says how the command is used, and exits
 * with 2, so that no typing error starts anything.
 *
 * @template {NonNullable<import('node:util').ParseArgsConfig['options']>} Options
 * @param {Options} options as `parseArgs` takes them
 * @param {string} usage
 */
export function readOptions(options, usage) {
  try {
    const { values } = parseArgs({ options: { ...options, help: { type: 'boolean' } } });
    if (!values.help) return values;
  } catch (error) {
    console.error(error.message);
  }
  return exitWith(usage);
}

/**
 * Says how a command is used, and exits with 2.
 *
 * @returns {never}
 */
export function exitWith(usage) {
  console.error(`Usage: ${usage}`);
  process.exit(2);
}
