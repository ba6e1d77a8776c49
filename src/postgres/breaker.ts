/** A circuit breaker: while the database does not answer, statements are refused. */
export type Breaker = {
  /** Whether the database does not answer. A statement is then refused at once, unsent. */
  isOpen(): boolean;
  /** Calls `listener` each time the breaker opens. */
  onOpen(listener: () => void): void;
  /** Calls `listener` each time the database falls silent, and what it returns when the database answers again. */
  onSilence(listener: () => () => void): void;
  /**
   * Calls `listener` with the number of the host that is the primary each time one is asked, and with null where a
   * connection of unknown host was seen to lead to a standby.
   */
  onPrimary(listener: (host: number | null) => void): void;
  /** Says that a statement was refused because its connection leads to a standby. */
  sawStandby(): void;
};
