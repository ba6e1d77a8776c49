import type { World } from './world.ts';

/** Gives every driver of the world a token that follows from the driver's id. */
export async function giveTokens({ sql }: World): Promise<void> {
  await sql`
    update drivers set token_hash = encode(sha256(convert_to('sdd_' || replace(id::text, '-', ''), 'UTF8')), 'hex')`;
}

export const tokenOf = (driverId: string): string => `sdd_${driverId.replaceAll('-', '')}`;
