import type { CliCommand } from '../cli/command.ts';
import { CommandError } from '../cli/context.ts';
import { doubtsAbout, misspeltSettings } from '../config.ts';

/** `check` */
export function addCheckCommand(program: CliCommand): void {
  program
    .command('check')
    .description('try every setting of the service: database, schema, Redis, folders, clock and vendors; harmless')
    .option('--roll', 'also fail where the build before does not start on the schema that this one makes')
    .runsAlone(async ({ settings, print, tell, options }) => {
      const config = settings();
      // It loads the SDKs of all vendors, as no other command does.
      const { checkSettings } = await import('../app/check.ts');
      const checks = await checkSettings(config, options.roll === true);
      print(checks);
      for (const line of [...misspeltSettings(), ...doubtsAbout(config)]) tell(line);
      const failed = checks.filter(({ status }) => status === 'failed').length;
      if (failed > 0) throw new CommandError(`${failed} of ${checks.length} checks failed.`);
    });
}
