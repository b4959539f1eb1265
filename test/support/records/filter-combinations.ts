/** The values to try for each filter. */
export type FilterValues = Readonly<Record<string, readonly string[]>>;

/** Every combination of filters as a query string without `?`, including those that omit a filter. */
export function combinationsOf(filters: FilterValues): string[] {
  let combinations: Record<string, string>[] = [{}];
  for (const [name, values] of Object.entries(filters)) {
    combinations = combinations.flatMap((one) => [one, ...values.map((value) => ({ ...one, [name]: value }))]);
  }
  return combinations.map((one) => new URLSearchParams(one).toString());
}
