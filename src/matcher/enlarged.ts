/** A copy of the array with room for `size` numbers. */
export function enlarged(array: Float64Array, size: number): Float64Array<ArrayBuffer>;
export function enlarged(array: Uint8Array, size: number): Uint8Array<ArrayBuffer>;
export function enlarged(array: Float64Array | Uint8Array, size: number): Float64Array | Uint8Array {
  const larger = array instanceof Float64Array ? new Float64Array(size) : new Uint8Array(size);
  larger.set(array);
  return larger;
}
