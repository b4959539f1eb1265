/** Renders a Certification completely. */
export function renderCertification({
  name,
  type,
  abbreviation,
}: {
  name: string;
  type: string;
  abbreviation: string;
}): string {
  return JSON.stringify({ name, type, abbreviation });
}
