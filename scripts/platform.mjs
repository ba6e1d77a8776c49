// Tells in one sentence why this machine cannot run the service, before anything is installed or loaded.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';

/** The transport's package that this table describes; for another one only loading it tells. */
const TRANSPORT = 'npm:uwebsockets@3.0.6';
/** The oldest glibc for the transport's binary, by Node's major version. */
const OLDEST_GLIBC = { 20: '2.27', 21: '2.27', 22: '2.38', 24: '2.38', 25: '2.38' };
const BUILT_FOR = ['linux x64', 'linux arm64', 'darwin x64', 'darwin arm64', 'win32 x64'];
const OLDEST_NODE = [20, 11];

/**
 * Returns the sentence; undefined where nothing is known to be in the way.
 *
 * @param {string} root the folder of package.json
 * @param {{ node: string, platform: string, arch: string, glibc: () => string | undefined }} machine
 */
export function whyNotHere(root, machine = thisMachine()) {
  const [major, minor] = machine.node.split('.').map(Number);
  if (major < OLDEST_NODE[0] || (major === OLDEST_NODE[0] && minor < OLDEST_NODE[1])) {
    return `Sameday needs Node 20.11 or newer and this is ${machine.node}: install Node 24, 22 or 20.`;
  }
  const { dependencies } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'));
  if (dependencies['uWebSockets.js'] !== TRANSPORT) return undefined;
  const oldest = OLDEST_GLIBC[major];
  if (oldest === undefined) {
    return `The HTTP transport has no binary for Node ${machine.node}: install Node 24, 22 or 20.`;
  }
  if (!BUILT_FOR.includes(`${machine.platform} ${machine.arch}`)) {
    return `The HTTP transport has no binary for ${machine.platform} on ${machine.arch}: use Linux or macOS on x64 or arm64.`;
  }
  if (machine.platform !== 'linux') return undefined;
  const glibc = machine.glibc();
  if (glibc === undefined) {
    return 'The HTTP transport needs glibc, and this Linux (Alpine, for one) has none: use Debian, Ubuntu or Fedora.';
  }
  if (isOlder(glibc, oldest)) {
    return `On Node ${major} the HTTP transport needs glibc ${oldest} and this machine has ${glibc}: install ${
      isOlder(glibc, '2.27') ? 'a newer Linux' : 'Node 20, or a newer Linux (Debian 13, Ubuntu 24.04)'
    }.`;
  }
  return undefined;
}

function thisMachine() {
  return {
    node: process.versions.node,
    platform: process.platform,
    arch: process.arch,
    // Asked last, as the report takes a while.
    glibc: () => {
      process.report.excludeNetwork = true;
      return process.report.getReport().header.glibcVersionRuntime;
    },
  };
}

function isOlder(version, than) {
  const [a, b] = [version, than].map((text) => text.split('.').map(Number));
  return a[0] === b[0] ? a[1] < b[1] : a[0] < b[0];
}
