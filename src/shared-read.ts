/** Makes a read, or other work, that all share who ask while it is under way; who asks later has it done anew. */
export function sharedRead<Read>(read: () => Promise<Read>): () => Promise<Read> {
  const readShared = sharedReads(read);
  return () => readShared('');
}

/** The same for reads by a key. Those that are under way take memory, and no others. */
export function sharedReads<Read>(read: (key: string) => Promise<Read>): (key: string) => Promise<Read> {
  const underWay = new Map<string, Promise<Read>>();
  return (key) => {
    const reading = underWay.get(key) ?? read(key).finally(() => underWay.delete(key));
    underWay.set(key, reading);
    return reading;
  };
}
