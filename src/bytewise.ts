/**
 * Compares strings by their UTF-8 bytes, the order in which both databases sort text. JavaScript's own order is that of
 * UTF-16, which differs beyond U+FFFF.
 */
export function compareBytewise(one: string, other: string): number {
  const length = Math.min(one.length, other.length);
  for (let index = 0; index < length; index += 1) {
    const [left, right] = [one.charCodeAt(index), other.charCodeAt(index)];
    if (left === right) continue;
    if (isSurrogate(left) === isSurrogate(right)) return left - right;
    return isSurrogate(left) ? 1 : -1;
  }
  return one.length - other.length;
}

function isSurrogate(unit: number): boolean {
  return unit >= 0xd800 && unit <= 0xdfff;
}
