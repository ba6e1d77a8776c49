import type { Db } from './db.ts';

/** Those whose credentials the service has, and the sending number, which carriers judge after Twilio took a text. */
export type Vendor = 'stripe' | 'twilio' | 'twilio_sender';

/** Notes that a vendor refuses the credentials, or that it takes them again. The first time is kept. */
export async function noteCredentials({ sql }: Db, vendor: Vendor, refused: boolean): Promise<void> {
  if (refused) await sql`insert into refused_credentials (vendor) values (${vendor}) on conflict do nothing`;
  else await sql`delete from refused_credentials where vendor = ${vendor}`;
}

/** The vendors that refuse the credentials. */
export async function readRefusingVendors({ sql }: Db): Promise<Vendor[]> {
  const rows = await sql<{ vendor: Vendor }[]>`select vendor from refused_credentials order by vendor`;
  return rows.map(({ vendor }) => vendor);
}
