/** Does something for each number below `count`, so many at once. */
export async function doAtOnce(count: number, atOnce: number, act: (index: number) => Promise<void>): Promise<void> {
  let next = 0;
  const some = async () => {
    for (let index = next++; index < count; index = next++) await act(index);
  };
  await Promise.all(Array.from({ length: Math.min(atOnce, count) }, some));
}
