import { ConfigError, doubtsAbout, misspeltSettings, readConfig } from '../config.ts';
import { onSignals } from '../runtime/signals.ts';
import { StartError } from '../runtime/start-error.ts';
import { welcome } from './banner.ts';
import { startService } from './start.ts';

const say = (line: string) => void process.stderr.write(`${line}\n`);

/** Runs the service in this process, until a signal or an error that the operator has to see. */
export async function run(): Promise<void> {
  try {
    const config = readConfig();
    for (const line of [...misspeltSettings(), ...doubtsAbout(config)]) say(line);
    const stop = onSignals(say, config);
    const service = await startService(config, say, stop.now);
    stop.use((withinMs) => service.close(withinMs));
    process.stdout.write(welcome(config, service));
  } catch (error) {
    const expected = error instanceof ConfigError || error instanceof StartError;
    say(expected ? error.message : `Sameday could not start: ${error instanceof Error ? error.stack : error}`);
    process.exit(1);
  }
}
