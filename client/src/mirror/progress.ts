/** The minimum interval between redraws. */
const REDRAW_MS = 100;

/**
 * Keeps one line of a terminal that shows how many changes were received so far.
 *
 * @returns a function that is told that number, and null to clear the line.
 */
export function progressLine(
  terminal: { write(text: string): unknown },
  clock: () => number = () => performance.now(),
): (received: number | null) => void {
  let drawnAtMs = -Infinity;
  return (received) => {
    if (received === null ? drawnAtMs === -Infinity : clock() - drawnAtMs < REDRAW_MS) return;
    drawnAtMs = received === null ? -Infinity : clock();
    terminal.write(`\r\u001B[K${received === null ? '' : `${received.toLocaleString('en')} records received`}`);
  };
}
