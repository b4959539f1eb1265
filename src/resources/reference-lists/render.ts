/** Renders a NamedRef, for the reference lists and for records that embed one. */
export function renderNamedRef({ id, name }: { id: string; name: string }): string {
  return JSON.stringify({ id, name });
}
