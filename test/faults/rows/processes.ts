import { any, underLoad } from '../row.ts';
import { later } from '../world.ts';

export const killApi = underLoad({
  name: 'kill-api',
  what: 'kill -9 of an API process',
  count: 200,
  async inject({ apis }, random) {
    const api = any(apis, random);
    await api.kill();
    await api.start();
  },
});

export const killWorker = underLoad({
  name: 'kill-worker',
  what: 'kill -9 of the worker',
  count: 200,
  needsRedis: true,
  async inject({ workers }, random) {
    const worker = any(workers, random);
    await worker.kill();
    await worker.start();
  },
});

export const pauseApi = underLoad({
  name: 'pause-api',
  what: 'an API process is stopped for 5 s and goes on',
  count: 20,
  async inject({ apis }, random) {
    const pid = any(apis, random).pid();
    process.kill(pid, 'SIGSTOP');
    await later(5_000);
    process.kill(pid, 'SIGCONT');
  },
});
