import { execFileSync } from 'node:child_process';
import { randomInt } from 'node:crypto';

/** A network of this machine: a hub, where this process is, and hosts behind a cable each. */
export type Network = {
  /** The address of this process in it. */
  readonly hub: string;
  readonly hosts: readonly string[];
  /** What runs a program at a host, before the program's name. */
  within(host: number): readonly string[];
  /** Unplugs a host: what is sent to it and by it is lost without a word. Returns what plugs it in again. */
  cut(host: number): () => void;
  close(): void;
};

/** What is missing here for such a network; undefined where nothing is. */
export function missingForNetwork(): string | undefined {
  try {
    openNetwork(1).close();
    return undefined;
  } catch (error) {
    return `network namespaces (${String(error).split('\n')[0]})`;
  }
}

/**
 * Opens a network by Linux's namespaces, a bridge and a pair of virtual devices a host, as `ip-netns(8)` and
 * `veth(4)` describe. Needs root and iproute2.
 */
export function openNetwork(hosts: number): Network {
  // In 10.0.0.0/8, at random, so that networks of several runs rarely meet. Names of devices have 15 bytes at most.
  const [a, b] = [randomInt(1, 255), randomInt(0, 255)];
  const name = `sd${a}-${b}`;
  const address = (host: number): string => `10.${a}.${b}.${host}`;
  const numbers = Array.from({ length: hosts }, (_, i) => i + 1);
  const close = (): void => {
    for (const i of numbers) tryIp('netns', 'del', `${name}-${i}`);
    tryIp('link', 'del', name);
  };
  try {
    ip('link', 'add', name, 'type', 'bridge');
    ip('address', 'add', `${address(254)}/24`, 'dev', name);
    ip('link', 'set', name, 'up');
    for (const i of numbers) plugIn(name, i, address(i));
  } catch (error) {
    close();
    throw error;
  }
  return {
    hub: address(254),
    hosts: numbers.map(address),
    within: (host) => ['ip', 'netns', 'exec', `${name}-${host + 1}`],
    cut(host) {
      const cable = `${name}.${host + 1}`;
      ip('link', 'set', cable, 'down');
      return () => ip('link', 'set', cable, 'up');
    },
    close,
  };
}

function plugIn(name: string, host: number, address: string): void {
  const space = `${name}-${host}`;
  const [outer, inner] = [`${name}.${host}`, `${name}_${host}`];
  ip('netns', 'add', space);
  ip('link', 'add', outer, 'type', 'veth', 'peer', 'name', inner);
  ip('link', 'set', inner, 'netns', space);
  ip('link', 'set', outer, 'master', name, 'up');
  ip('-n', space, 'address', 'add', `${address}/24`, 'dev', inner);
  for (const device of ['lo', inner]) ip('-n', space, 'link', 'set', device, 'up');
}

function ip(...args: string[]): void {
  execFileSync('ip', args, { env: { PATH: `${process.env.PATH}:/usr/sbin` }, stdio: ['ignore', 'ignore', 'pipe'] });
}

function tryIp(...args: string[]): void {
  try {
    ip(...args);
  } catch {
    // It is not there.
  }
}
