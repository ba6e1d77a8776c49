import type { Config } from '../config.ts';
import { DEMO_STORE } from '../sandbox/demo.ts';
import { SANDBOX_MAX_WAIT_SECONDS, SANDBOX_ORDERS_PER_DRIVER } from '../sandbox/tidying.ts';
import type { Service } from './start.ts';

/** The lines that the terminal shows once the service is up. */
export function welcome(config: Config, service: Service): string {
  const roles = [...config.roles].join(' and ');
  const where = service.url ? ` at ${service.url}` : '';
  const lines = [`Sameday is ready${where} (${config.sandbox ? 'sandbox, ' : ''}${roles}).`];
  if (service.sandbox && service.url) lines.push(...sandboxLines(service.url, service.sandbox));
  return `${lines.join('\n')}\n`;
}

function sandboxLines(url: string, sandbox: NonNullable<Service['sandbox']>): string[] {
  const { retailerId, apiKey, drivers, yourDriverToken } = sandbox;
  const { lat, lng } = DEMO_STORE.point;
  const order = {
    retailer_id: retailerId,
    customer: { name: 'Jordan Lee', email: 'jordan@example.com', phone: '+14155550123', sms_opt_in: true },
    pickup_address: DEMO_STORE.address,
    dropoff_address: { line1: '401 Valencia St', city: 'San Francisco', state: 'CA', zip: '94103' },
  };
  const body = JSON.stringify(order);
  const who = drivers > 0 ? `${drivers} simulated drivers do the driving` : 'no driver is simulated';
  return [
    '',
    `This is the sandbox: money and messages stay on this machine, and ${who}.`,
    '',
    'Create an order:',
    '',
    `  curl -s ${url}/orders/create -H 'Authorization: Bearer ${apiKey}' \\`,
    `    -H 'Content-Type: application/json' -d '${body}'`,
    '',
    ...(drivers > 0
      ? [
          `Then open ${url}/track/ followed by the tracking_token of the reply: ` +
            'the driver comes, picks up and delivers.',
        ]
      : [
          `Then open ${url}/track/ followed by the tracking_token of the reply: the order waits until you drive, as`,
          'SIMULATED_DRIVERS is 0.',
        ]),
    '',
    ...laterLines(url, apiKey, body, drivers),
    `${drivers > 0 ? 'Or drive' : 'Drive'} yourself: open ${url}/driver, sign in with ${yourDriverToken}, and let the ` +
      'browser',
    `believe that it is at the store (developer tools, Sensors, Location): ${lat}, ${lng}`,
    '',
    `Load it (200 orders, of which ${drivers > 0 ? 'so few drivers can take some' : 'one driver can take one'}):`,
    '',
    `  npx autocannon -c 10 -a 200 -m POST -H 'Authorization: Bearer ${apiKey}' \\`,
    `    -H 'Content-Type: application/json' -b '${body}' ${url}/orders/create`,
    '',
    ...leftoverLines(drivers),
    '',
    '  npm run -s sameday -- sandbox reset',
    '',
    'Look around:',
    '',
    `  ${url}/docs     (every request, to try out here: "Authorize" takes ${apiKey})`,
    `  ${url}/metrics`,
    '  npm run -s sameday -- stats     (deliveries an hour, parcels a trip, what is late, what is planned)',
    '  npm run -s sameday -- order list',
    ...(drivers > 0 ? ['  npm run -s sameday -- webhook list     (deliveries to the store)'] : []),
    '',
    'Measure it: npm run load',
    'Ctrl-C stops everything; the data stays.',
  ];
}

/** Orders whose parcels are ready at later minutes: the planner means a driver for each. */
function laterLines(url: string, apiKey: string, body: string, drivers: number): string[] {
  if (drivers === 0) return [];
  const later = `${body.slice(0, -1)},"ready_at":"'$(node -p "new Date(Date.now() + $m * 6e4).toISOString()")'"}`;
  return [
    'Create some that are ready in 5, 10 and 15 minutes, and see them planned (waiting_because) until a driver is told:',
    '',
    `  for m in 5 10 15; do curl -s ${url}/orders/create -H 'Authorization: Bearer ${apiKey}' \\`,
    `    -H 'Content-Type: application/json' -d '${later}'; done`,
    '  npm run -s sameday -- order list',
    '',
  ];
}

/** What becomes of orders that no driver takes. Nothing is tidied up where drivers are not simulated. */
function leftoverLines(drivers: number): string[] {
  if (drivers === 0) return ['To remove all orders:'];
  const minutes = SANDBOX_MAX_WAIT_SECONDS / 60;
  return [
    `An order that no driver takes expires after ${minutes} minutes. Of more than ` +
      `${SANDBOX_ORDERS_PER_DRIVER * drivers} that wait, all but the`,
    'newest expire within seconds, so that the drivers are free for yours. To remove all orders:',
  ];
}
