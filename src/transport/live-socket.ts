/** An open WebSocket as the code that speaks over it sees it. */
export type LiveSocket<Data> = {
  readonly data: Data;
  /** Sends one text message; false where the reader is too slow to take it, and is dropped. */
  send(text: string): boolean;
  /** Says why. The connection stays open until its client closes it too, or CLOSING_SOCKET_MS have passed. */
  close(code: number, reason: string): void;
  /** As `close`, for clients that may be hostile: once there were too many of them, the connection is cut. */
  dismiss(code: number, reason: string): void;
  /** Ends the connection at once and without a word. */
  cut(): void;
  subscribe(topic: string): void;
  unsubscribe(topic: string): void;
};

/** What is known of a client before its upgrade is accepted. */
export type UpgradeHead = {
  readonly params: readonly string[];
  readonly remoteAddress: string;
};

/** A protocol over the WebSockets of one address, for the server to mount. */
export type SocketBehaviour<Data> = {
  readonly path: string;
  readonly maxMessageBytes: number;
  readonly idleTimeoutSeconds: number;
  /** The new socket's data, or the HTTP status that refuses the upgrade. */
  accept(head: UpgradeHead): Promise<Data | { readonly refuse: 404 | 410 | 503 }>;
  opened(socket: LiveSocket<Data>): void;
  message(socket: LiveSocket<Data>, text: string): void;
  closed(socket: LiveSocket<Data>): void;
};
