/** A stored record on either side of a gap. */
export interface Neighbour {
  id: string;
  number: number;
}

/** A series that grows at its end takes this part of the gap for each record. */
const SERIES_STEP = 1 / 1024;

/**
 * Numbers for new ids, in their order, between two neighbours; null where the gap has no room.
 *
 * Before the first and after the last record there is room for all. Between two, ids are spread
 * evenly, so that whatever comes next finds room on each side. An id that continues the series
 * of its left neighbour (`RFP-0041` after `RFP-0040`, before `RFQ-0001`) stays close to it: the
 * next one will come after it, so that the room is needed there.
 */
export function numbersBetween(
  ids: readonly string[],
  left: Neighbour | null,
  right: Neighbour | null,
  stride: number,
): number[] | null {
  if (right === null) return inSteps(ids.length, left?.number ?? 0, stride);
  if (left === null) return inSteps(ids.length, right.number - stride * (ids.length + 1), stride);
  const room = right.number - left.number;
  if (room <= ids.length) return null;
  const series = withoutTrailingDigits(left.id);
  const isSeries = (id: string): boolean => withoutTrailingDigits(id) === series;
  const others = ids.findIndex((id) => !isSeries(id));
  const growing = isSeries(right.id) ? 0 : others === -1 ? ids.length : others;
  // A series takes half of the room at most, and leaves a place for each that follows it.
  const step = Math.max(1, Math.floor(room * Math.min(SERIES_STEP, 1 / (2 * ids.length + 2))));
  const end = left.number + growing * step;
  const spread = ids.length - growing;
  const rest = right.number - end;
  return [
    ...Array.from({ length: growing }, (_, index) => left.number + (index + 1) * step),
    ...Array.from({ length: spread }, (_, index) => end + Math.floor(((index + 1) * rest) / (spread + 1))),
  ];
}

function inSteps(count: number, start: number, stride: number): number[] | null {
  if (!Number.isSafeInteger(start) || !Number.isSafeInteger(start + count * stride)) return null;
  return Array.from({ length: count }, (_, index) => start + (index + 1) * stride);
}

function withoutTrailingDigits(id: string): string {
  let end = id.length;
  while (end > 0 && id.charCodeAt(end - 1) >= DIGIT_0 && id.charCodeAt(end - 1) <= DIGIT_9) end -= 1;
  return id.slice(0, end);
}

const DIGIT_0 = 0x30;
const DIGIT_9 = 0x39;
