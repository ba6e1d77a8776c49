import { execFileSync } from 'node:child_process';
import {
  appendFileSync,
  chmodSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { type EmbeddedPostgres, startEmbeddedPostgres } from '../../src/embedded/postgres.ts';
import { processStart } from '../../src/embedded/processes.ts';
import { connect, type Sql } from '../../src/postgres/connect.ts';
import { migrateDatabase } from '../../src/postgres/migrate.ts';
import { bundleProgram, type Child, runNode } from '../harness/child.ts';

const HOLDER = `
  import { startEmbeddedPostgres } from 'src/embedded/postgres.ts';
  const postgres = await startEmbeddedPostgres({ dataDir: process.argv[2]!, log: () => undefined });
  console.log(postgres.url);
  process.stdin.resume();
  setInterval(() => undefined, 1000);
`;

/** A cluster that was made and stopped; each test has a copy, which takes less than to make one. */
let made: string;
let dataDir: string;
const running: EmbeddedPostgres[] = [];
const children: Child[] = [];

/** Root's Postgres runs as another user, which must get in. */
function newFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), 'sameday-postgres-'));
  chmodSync(folder, 0o755);
  return folder;
}
beforeAll(async () => {
  made = newFolder();
  await (await startEmbeddedPostgres({ dataDir: made, log: () => undefined })).stop();
});
afterAll(() => rmSync(made, { recursive: true, force: true }));
beforeEach(() => {
  dataDir = newFolder();
  execFileSync('cp', ['-a', `${made}/.`, dataDir]);
});
afterEach(async () => {
  for (const child of children.splice(0)) child.process.kill('SIGKILL');
  for (const postgres of running.splice(0)) await postgres.stop();
  const pid = postmasterPid();
  if (pid !== undefined) await expect.poll(() => processStart(pid)).toBeUndefined();
  rmSync(dataDir, { recursive: true, force: true });
});

const start = async (log: (line: string) => void = () => undefined): Promise<EmbeddedPostgres> => {
  const postgres = await startEmbeddedPostgres({ dataDir, log });
  running.push(postgres);
  return postgres;
};

type Saved = { folder: string; port: number; password: string; owner: { pid: number; started: string } };
const saved = (): Saved => JSON.parse(readFileSync(join(dataDir, 'postgres.json'), 'utf8')) as Saved;
const folder = (): string => resolve(dataDir, saved().folder);

function postmasterPid(): number | undefined {
  try {
    return Number(readFileSync(join(folder(), 'cluster/postmaster.pid'), 'utf8').split('\n')[0]);
  } catch {
    return undefined;
  }
}

async function using<Result>(url: string, work: (sql: Sql) => Promise<Result>): Promise<Result> {
  const sql = connect({ url, max: 1, applicationName: 'test' });
  try {
    return await work(sql);
  } finally {
    await sql.end({ timeout: 1 });
  }
}

/** Starts the cluster in another process, which holds it. */
async function startHolder(): Promise<{ child: Child; url: string }> {
  const child = runNode(bundleProgram(join(dataDir, 'program'), 'holder', HOLDER), [dataDir]);
  children.push(child);
  await expect.poll(() => child.lines).toHaveLength(1);
  return { child, url: child.lines[0] as string };
}

describe('the embedded Postgres', () => {
  it('keeps its data, password and port between runs', async () => {
    const first = await start();
    await using(first.url, (sql) => sql`create table kept as select 7 as n`);
    await first.stop();
    const second = await start();
    expect(second.url).toBe(first.url);
    expect(second.reused).toBe(false);
    expect(await using(second.url, (sql) => sql`select n from kept`)).toMatchObject([{ n: 7 }]);
  });

  it('accepts only its password, on 127.0.0.1, and keeps it from other users', async () => {
    const { url } = await start();
    const wrong = new URL(url);
    wrong.password = 'guess';
    await expect(using(wrong.href, (sql) => sql`select 1`)).rejects.toMatchObject({ code: '28P01' });
    const file = readFileSync(join(folder(), 'cluster/postmaster.pid'), 'utf8').split('\n');
    expect({ socketFolder: file[4], host: file[5] }).toEqual({ socketFolder: '', host: '127.0.0.1' });
    expect(statSync(join(dataDir, 'postgres.json')).mode & 0o777).toBe(0o600);
  });

  it('gives the service a role that owns its database and no more', async () => {
    const { url } = await start();
    const [role] = await using(
      url,
      (sql) => sql`
        select rolname, rolsuper, rolcreatedb, rolcreaterole, rolreplication, rolbypassrls, d.datdba = r.oid as owner
        from pg_roles r, pg_database d where rolname = current_user and datname = current_database()`,
    );
    const nothing = { rolcreatedb: false, rolcreaterole: false, rolreplication: false, rolbypassrls: false };
    expect(role).toEqual({ rolname: 'sameday', rolsuper: false, ...nothing, owner: true });
    await using(url, async (sql) => {
      await expect(sql`copy (select 1) to program 'true'`).rejects.toMatchObject({ code: '42501' });
      await expect(sql`alter system set fsync = off`).rejects.toMatchObject({ code: '42501' });
    });
    await migrateDatabase({ url, dir: join(import.meta.dirname, '../../migrations') });
    await using(url, (sql) => sql`select from orders`);
  });

  it.runIf(process.geteuid?.() === 0)('belongs to a user of its own where root starts it', async () => {
    await start();
    const { uid } = statSync(join(folder(), 'cluster'));
    expect(uid).not.toBe(0);
    expect(uid).not.toBe(65_534);
    expect(statSync(`/proc/${postmasterPid()}`).uid).toBe(uid);
  });

  it('is durable and reads text and time alike everywhere', async () => {
    const { url } = await start();
    const [row] = await using(
      url,
      (sql) => sql`select current_setting('fsync') as fsync, current_setting('synchronous_commit') as commit,
        current_setting('TimeZone') as zone, lower('ÀÉ') as lower, current_setting('server_encoding') as encoding`,
    );
    expect(row).toEqual({ fsync: 'on', commit: 'on', zone: 'UTC', lower: 'àé', encoding: 'UTF8' });
  });

  it('writes nothing a customer typed into its log', async () => {
    const { url } = await start();
    const phone = '+15550009999';
    await using(url, async (sql) => {
      await sql`create table people (phone text primary key, n int)`;
      await sql`insert into people values (${phone}, 1)`;
      const failing = [
        sql`insert into people values (${phone}, 2)`,
        sql`select ${phone}::uuid`,
        sql.unsafe(`select '${phone}'::date`),
        sql.unsafe(`selec '${phone}'`),
        sql`insert into people values (${`${phone}1`}, ${phone}::int / 0)`,
      ];
      const results = await Promise.allSettled(failing);
      expect(results.every(({ status }) => status === 'rejected')).toBe(true);
    });
    const log = readFileSync(join(folder(), 'server.log'), 'utf8');
    expect(log).toContain('ready to accept connections');
    expect(log).not.toContain('5550009999');
  });

  it('uses another port silently when its own is taken', async () => {
    const first = await start();
    await first.stop();
    const { port } = saved();
    const squatter = createServer();
    await new Promise<void>((done) => squatter.listen(port, '127.0.0.1', done));
    const second = await start();
    squatter.close();
    expect(new URL(second.url).port).not.toBe(String(port));
    expect(await using(second.url, (sql) => sql`select 1 as n`)).toMatchObject([{ n: 1 }]);
  });

  it('makes a cluster again that a killed process left half made', async () => {
    for (const name of ['postgres', 'postgres.json']) rmSync(join(dataDir, name), { recursive: true });
    mkdirSync(join(dataDir, 'postgres/cluster.draft/base'), { recursive: true });
    writeFileSync(join(dataDir, 'postgres/cluster.draft/PG_VERSION'), '18\n');
    writeFileSync(join(dataDir, 'postgres/cluster.password'), 'old');
    const { url } = await start();
    expect(await using(url, (sql) => sql`select 1 as n`)).toMatchObject([{ n: 1 }]);
  });

  it('refuses a cluster of another version, or whose password is gone, with a sentence', async () => {
    const first = await start();
    await first.stop();
    writeFileSync(join(folder(), 'cluster/PG_VERSION'), '15\n');
    await expect(start()).rejects.toThrow(/was made by Postgres 15, and Postgres 18 is installed/);
    rmSync(join(dataDir, 'postgres.json'));
    await expect(start()).rejects.toThrow(/whose password was in .*postgres\.json, which is gone/);
    writeFileSync(join(dataDir, 'postgres.json'), '{"folder":"postgres","password":"x","port":0,"owner":{"pid":0}}');
  });

  it('empties its log when it has grown too large', async () => {
    const first = await start();
    await first.stop();
    appendFileSync(join(folder(), 'server.log'), 'x'.repeat(5 * 1024 * 1024));
    await start();
    expect(statSync(join(folder(), 'server.log')).size).toBeLessThan(100_000);
  });

  it('stops a second time without harm', async () => {
    const postgres = await start();
    await Promise.all([postgres.stop(), postgres.stop()]);
    await postgres.stop();
    expect(postmasterPid()).toBeUndefined();
  });
});

describe.runIf(process.platform === 'linux')('after kill -9', () => {
  it('of the process that started it, it ends and the next start is whole', async () => {
    const { child, url } = await startHolder();
    await using(url, (sql) => sql`create table kept as select 7 as n`);
    const pid = postmasterPid() as number;
    child.process.kill('SIGKILL');
    await expect.poll(() => processStart(pid)).toBeUndefined();
    const next = await start();
    expect(next.reused).toBe(false);
    expect(await using(next.url, (sql) => sql`select n from kept`)).toMatchObject([{ n: 7 }]);
  });

  it('of everything at once, the next start is whole and has what was committed', async () => {
    const { child, url } = await startHolder();
    await using(url, (sql) => sql`create table kept as select 7 as n`);
    process.kill(postmasterPid() as number, 'SIGKILL');
    child.process.kill('SIGKILL');
    const next = await start();
    expect(await using(next.url, (sql) => sql`select n from kept`)).toMatchObject([{ n: 7 }]);
  });
});

describe('a server that is running already', () => {
  it('is used when its owner has died, and stopped at the end', async () => {
    const first = await start();
    const pid = postmasterPid() as number;
    const record = { ...saved(), owner: { pid: 2 ** 22 + 1, started: 'long ago' } };
    writeFileSync(join(dataDir, 'postgres.json'), JSON.stringify(record));
    const second = await start();
    expect(second.reused).toBe(true);
    expect(second.url).toBe(first.url);
    expect(await using(second.url, (sql) => sql`select 1 as n`)).toMatchObject([{ n: 1 }]);
    await second.stop();
    expect(processStart(pid)).toBeUndefined();
  });

  it('is used and left running when its owner is another living process', async () => {
    const { url } = await startHolder();
    const guest = await start();
    expect(guest).toMatchObject({ url, reused: true });
    await guest.stop();
    expect(await using(url, (sql) => sql`select 1 as n`)).toMatchObject([{ n: 1 }]);
  });

  it('is stopped and started anew when it is of another installation', async () => {
    const first = await start();
    const pid = postmasterPid();
    const record = { ...saved(), binaries: '/elsewhere', owner: { pid: 0, started: '' } };
    writeFileSync(join(dataDir, 'postgres.json'), JSON.stringify(record));
    const second = await start();
    expect(second.reused).toBe(false);
    expect(postmasterPid()).not.toBe(pid);
    expect(await using(second.url, (sql) => sql`select 1 as n`)).toMatchObject([{ n: 1 }]);
    await first.stop();
    expect(await using(second.url, (sql) => sql`select 1 as n`)).toMatchObject([{ n: 1 }]);
  });

  it('is not taken for Postgres when another program has its pid', async () => {
    const first = await start();
    await first.stop();
    writeFileSync(
      join(folder(), 'cluster/postmaster.pid'),
      `${process.pid}\n${folder()}/cluster\n1\n5432\n\n\n\nready\n`,
    );
    const second = await start();
    expect(second.reused).toBe(false);
    expect(await using(second.url, (sql) => sql`select 1 as n`)).toMatchObject([{ n: 1 }]);
  });
});
