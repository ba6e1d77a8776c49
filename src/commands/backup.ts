import type { CliCommand } from '../cli/command.ts';
import { CommandError } from '../cli/context.ts';
import { typedPath, zonedTime } from '../cli/parts.ts';

/** Exit code where nothing can be said of a backup. */
const NOT_CHECKED = 2;

type Options = {
  readonly wal?: string;
  readonly until?: string;
  readonly photos?: string;
  readonly dataDir?: string;
  readonly database: string;
  readonly user: string;
  readonly programs?: string;
  readonly temporary?: string;
};

/** `backup check` */
export function addBackupCommands(program: CliCommand): void {
  const check = program
    .command('backup')
    .description('backups')
    .command('check')
    .description('restore a backup into a temporary cluster and say what is in it; the live database is not touched')
    .argument('<path>', 'a dump (custom format or directory), or the folder of a base backup')
    .option('--wal <folder>', 'the archived log of a base backup', typedPath)
    .option('--until <time>', 'replay the log up to this time')
    .option('--photos <folder>', 'the photos of the same moment', typedPath)
    .option('--data-dir <folder>', 'a copy of DATA_DIR of the same moment', typedPath)
    .option('--database <name>', 'the database in a base backup', 'sameday')
    .option('--user <name>', 'the superuser of a base backup', 'postgres')
    .option('--programs <folder>', 'the programs of Postgres, of the version of the backup', typedPath)
    .option('--temporary <folder>', 'where the temporary cluster is made', typedPath)
    .runsAlone(async ({ args: [path = ''], print, tell }) => {
      const { until, wal, photos, dataDir, programs, temporary, database, user } = check.opts<Options>();
      const time = until === undefined ? null : zonedTime('--until', until, NOT_CHECKED);
      if (until !== undefined && time === null) {
        throw new CommandError(`--until takes a time like 2026-11-23T22:00:00Z, not ${until}.`, NOT_CHECKED);
      }
      const { checkBackup } = await import('../app/backup-check.ts');
      const folders = { path: typedPath(path), wal: wal ?? null, photos: photos ?? null, dataDir: dataDir ?? null };
      const places = { programs: programs ?? null, temporary: temporary ?? null, database, user };
      const findings = await checkBackup({ ...folders, ...places, until: time }, tell).catch((error: Error) => {
        throw new CommandError(`The backup could not be checked: ${error.message}`, NOT_CHECKED);
      });
      print(findings);
      const broken = findings.filter(({ status }) => status === 'broken').length;
      if (broken > 0) throw new CommandError(`${broken} findings.`);
    });
}
