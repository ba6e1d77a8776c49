/** Money is whole US cents everywhere; it is never a float and never comes from a caller. */
export type Cents = number;
