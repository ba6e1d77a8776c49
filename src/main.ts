import { welcome } from './app/banner.ts';
import { StartError } from './app/database.ts';
import { onSignals } from './app/signals.ts';
import { startService } from './app/start.ts';
import { ConfigError, readConfig } from './config.ts';

const say = (line: string) => void process.stderr.write(`${line}\n`);

try {
  const config = readConfig();
  const stop = onSignals(say);
  const service = await startService(config, say, stop.now);
  stop.use(() => service.close());
  process.stdout.write(welcome(config, service));
} catch (error) {
  const expected = error instanceof ConfigError || error instanceof StartError;
  say(expected ? error.message : `Sameday could not start: ${error instanceof Error ? error.stack : error}`);
  process.exit(1);
}
