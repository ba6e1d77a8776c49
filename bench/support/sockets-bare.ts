import { serve } from './sockets-child.ts';
import { clockMs } from './sockets-line.ts';

const PONG = '{"type":"pong"}';
/** Length below which a message is a ping. */
const PING_LETTERS = 20;

/**
 * The transport alone in a process of its own: what it and the clients of a benchmark can do without a
 * service. It counts what drivers send without reading it, and publishes to topics without looking anything
 * up.
 */
export async function serveBare(): Promise<void> {
  const { default: uWS } = await import('uWebSockets.js');
  let messages = 0;
  const app = uWS.App();
  app.ws<{ isKnown: boolean }>('/driver/live', {
    upgrade: (response, request, context) => {
      const key = request.getHeader('sec-websocket-key');
      response.upgrade({ isKnown: false }, key, '', '', context);
    },
    message(socket, message) {
      messages += 1;
      const data = socket.getUserData();
      if (data.isKnown) return void (message.byteLength < PING_LETTERS && socket.send(PONG));
      data.isKnown = true;
      socket.send('{"type":"state"}');
    },
  });
  app.ws<{ topic: string }>('/track/:token/live', {
    upgrade: (response, request, context) => {
      const key = request.getHeader('sec-websocket-key');
      response.upgrade({ topic: request.getParameter(0) ?? '' }, key, '', '', context);
    },
    open(socket) {
      socket.subscribe(socket.getUserData().topic);
      socket.send('{"type":"order","order":{"sequence":1,"status":"driver_assigned"}}');
    },
  });
  serve({
    listen: () =>
      new Promise<number>((resolve, reject) =>
        app.listen('127.0.0.1', 0, (socket) => {
          if (socket) resolve(uWS.us_socket_local_port(socket));
          else reject(new Error('the bare server cannot listen'));
        }),
      ),
    cpuMs: () => (process.cpuUsage().user + process.cpuUsage().system) / 1_000,
    messages: () => messages,
    rss: () => process.memoryUsage.rss(),
    /** Publishes the text to each of these topics; returns the start time. */
    publish({ topics, text }: { topics: readonly string[]; text: string }) {
      const startedMs = clockMs();
      for (const topic of topics) app.publish(topic, text);
      return startedMs;
    },
  });
}
