/** Makes a read that everybody shares who asks while it is under way; whoever asks later has it made anew. */
export function sharedRead<Read>(read: () => Promise<Read>): () => Promise<Read> {
  let underWay: Promise<Read> | null = null;
  return () => {
    underWay ??= read().finally(() => {
      underWay = null;
    });
    return underWay;
  };
}
