import { it } from 'vitest';
import { launchBrowser } from '../support/chromium.ts';
import { pickedUp, TOKEN } from '../tracking/orders.ts';
import { servePage } from './page-server.ts';
it('x', async () => {
  const server = await servePage();
  const b = await launchBrowser({ width: 360, height: 740 });
  await server.change(pickedUp());
  const c = await b.context.browser()!.newContext({ javaScriptEnabled: false, viewport: { width: 360, height: 740 } });
  const p = await c.newPage(); await p.goto(`${server.url}/track/${TOKEN}`);
  await p.screenshot({ path: '/tmp/shots/nojs.png' });
  console.log(await p.locator('#track').innerText());
  console.log(await p.getByText('This page loads').evaluateAll((es) => es.map((e) => e.outerHTML + getComputedStyle(e).display)));
  await c.close(); await b.close(); await server.close();
});
