/** What a field means, and a value of it. */
export type FieldText = {
  readonly says: string;
  readonly example?: unknown;
  /** Whether examples of bodies are without it. */
  readonly isSeldom?: boolean;
};
