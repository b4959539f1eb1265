/** A NamedRef, whole: served by the reference lists and embedded wherever a record names one. */
export function renderNamedRef({ id, name }: { id: string; name: string }): string {
  return JSON.stringify({ id, name });
}
