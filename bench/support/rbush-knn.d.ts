declare module 'rbush-knn' {
  import type RBush from 'rbush';
  /** The `k` items of a tree nearest to a point, by distance on the plane. */
  export default function knn<Item>(tree: RBush<Item>, x: number, y: number, k?: number): Item[];
}
