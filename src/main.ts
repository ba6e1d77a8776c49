// An older Node ends at the first line that it cannot read, so its version is looked at before anything is loaded.
const [major = 0, minor = 0] = process.versions.node.split('.').map(Number);
if (major < 20 || (major === 20 && minor < 11)) {
  process.stderr.write(`Sameday needs Node 20.11 or newer and this is ${process.versions.node}.\n`);
  process.exit(1);
}
const { run } = await import('./app/run.ts');
await run();
