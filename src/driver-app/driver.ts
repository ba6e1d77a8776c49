/** A driver whose token was good. */
export type Driver = { readonly driverId: string };
