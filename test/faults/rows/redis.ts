import { Redis } from 'ioredis';
import { underLoad } from '../row.ts';
import { later } from '../world.ts';

export const emptyRedis = underLoad({
  name: 'redis-emptied',
  what: 'Redis loses everything',
  count: 20,
  needsRedis: true,
  async inject({ redis }) {
    const connection = new Redis(redis?.url as string);
    await connection.flushall();
    connection.disconnect();
    await later(1_000);
  },
});
