/** A place on Earth in degrees: latitude −90 to 90, longitude −180 to 180 (WGS 84, read as a sphere). */
export type Point = { readonly lat: number; readonly lng: number };
