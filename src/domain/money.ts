/** Whole US cents. Money is never a fraction and never comes from a caller. */
export type Cents = number;
