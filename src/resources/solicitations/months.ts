/** The month of a deadline, `2026-11`, as totals are kept for each; empty for no deadline. Text order is time order. */
export function monthOf(closeAt: string | null): string {
  return closeAt?.slice(0, 7) ?? '';
}

/** After every instant of the month. */
export function endOfMonth(month: string): string {
  return `${month}~`;
}
