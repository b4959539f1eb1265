/** The values that each filter is tried with. */
export type FilterValues = Readonly<Record<string, readonly string[]>>;

/** Each combination of filters as a query string without `?`; every filter is also left out. */
export function combinationsOf(filters: FilterValues): string[] {
  let combinations: Record<string, string>[] = [{}];
  for (const [name, values] of Object.entries(filters)) {
    combinations = combinations.flatMap((one) => [one, ...values.map((value) => ({ ...one, [name]: value }))]);
  }
  return combinations.map((one) => new URLSearchParams(one).toString());
}
