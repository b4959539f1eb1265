import { distinctBy, firstText, objectAt, textAt, type JsonObject } from '../json.ts';
import { hashedId, idFor, normalizeName } from '../ids.ts';
import type { ContractingProcess } from './process.ts';

/** An organization as a record refers to it. */
export interface Organization {
  /** Equal for equal organizations of all publishers. */
  key: string;
  name: string;
  party: JsonObject;
}

/**
 * The organization that a reference (`buyer`, a supplier of an award) names.
 *
 * Its identity is its registered identifier, or its name if it has none. A party's `id` only connects references and
 * parties within a process: publishers give the same `id` to different organizations.
 *
 * @returns null if it has no name.
 */
export function findOrganization(process: ContractingProcess, reference: JsonObject): Organization | null {
  const id = textAt(reference, 'id');
  const name = textAt(reference, 'name');
  const isNamed = (party: JsonObject): boolean => name !== null && sameName(textAt(party, 'name'), name);
  const withId = id === null ? [] : process.parties.filter((party) => textAt(party, 'id') === id);
  const names = new Set(withId.map((party) => normalizeName(textAt(party, 'name') ?? '')));
  // Several organizations that share an id are told apart by name.
  const byId = names.size <= 1 ? withId[0] : withId.find(isNamed);
  const party = byId ?? (withId.length === 0 ? process.parties.find(isNamed) : undefined);
  if (party === undefined) process.report.dropped('references that name no party (taken as they are)');
  return organizationOf(party ?? reference, name);
}

/** An organization from its party object; `null` if it has no name. */
function organizationOf(party: JsonObject, fallbackName: string | null): Organization | null {
  const name = firstText(textAt(party, 'name'), fallbackName, textAt(party, 'identifier', 'legalName'));
  if (name === null) return null;
  const identifier = objectAt(party, 'identifier');
  const [scheme, id] = [textAt(identifier, 'scheme'), textAt(identifier, 'id')];
  const key = scheme !== null && id !== null ? `${scheme}-${id}` : JSON.stringify(['name', normalizeName(name)]);
  return { key, name, party };
}

/** The id of an organization's record: `le_…`, `sup_…` or `co_…`. */
export function organizationId(prefix: string, { key, name }: Organization): string {
  const isName = key.startsWith('[');
  return isName ? hashedId(prefix, key, name) : idFor(prefix, key);
}

/** The organizations of a process with a role. */
export function withRole(process: ContractingProcess, role: string): Organization[] {
  const parties = process.parties.filter(({ roles }) => Array.isArray(roles) && roles.includes(role));
  return distinctBy(
    parties.flatMap((party) => organizationOf(party, null) ?? []),
    ({ key }) => key,
  );
}

function sameName(first: string | null, second: string): boolean {
  return first !== null && normalizeName(first) === normalizeName(second);
}
