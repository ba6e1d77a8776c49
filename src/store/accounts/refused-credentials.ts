import { SENDER_REFUSED_PAUSE_SECONDS } from '../../limits.ts';
import type { Db } from '../db.ts';

/** Those whose credentials the service has, and the sending number, which carriers judge after Twilio took a text. */
export type Vendor = 'stripe' | 'twilio' | 'twilio_sender';

/**
 * Notes that a vendor refuses the credentials, or that it takes them again. One carrier may take texts of a number that
 * another one refuses, so the number is taken again when no process has heard of a refusal for a while.
 */
export async function noteCredentials({ sql }: Db, vendor: Vendor, refused: boolean): Promise<void> {
  if (refused)
    await sql`
      insert into refused_credentials (vendor) values (${vendor})
      on conflict (vendor) do update set refused_at = now()`;
  else
    await sql`
      delete from refused_credentials where vendor = ${vendor} and (vendor <> 'twilio_sender'
        or refused_at < now() - make_interval(secs => ${SENDER_REFUSED_PAUSE_SECONDS}))`;
}

/** The vendors that refuse the credentials. */
export async function readRefusingVendors({ sql }: Db): Promise<Vendor[]> {
  const rows = await sql<{ vendor: Vendor }[]>`select vendor from refused_credentials order by vendor`;
  return rows.map(({ vendor }) => vendor);
}
