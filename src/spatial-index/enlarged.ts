type Numbers = Float64Array | Int32Array | Uint8Array;

/** A copy of the array with room for `size` numbers. */
export function enlarged<Array extends Numbers>(array: Array, size: number): Array {
  const larger = new (array.constructor as new (size: number) => Array)(size);
  larger.set(array);
  return larger;
}
