import { hashedId } from '../ids.ts';
import { distinctBy, objectAt, objectsAt, textAt, type JsonObject } from '../json.ts';
import { CPV_DIVISIONS } from './cpv-divisions.ts';
import type { OcdsOptions } from './options.ts';

/** A city service: what contracts are found by. */
export interface Service {
  id: string;
  name: string;
}

/**
 * The services that items and their classifications name, each once, in order.
 *
 * @param sources the first that has any classification counts.
 */
export function servicesOf(sources: readonly (readonly JsonObject[])[], { services }: OcdsOptions): Service[] {
  for (const items of sources) {
    const found = items.flatMap((item) =>
      classificationsOf(item).flatMap((one) => serviceOf(one, textAt(item, 'description'), services) ?? []),
    );
    if (found.length > 0) return distinctBy(found, ({ id }) => id);
  }
  return [];
}

/** All classifications of an item; an empty object if it has no main one. */
export function classificationsOf(item: JsonObject): JsonObject[] {
  return [objectAt(item, 'classification'), ...objectsAt(item, 'additionalClassifications')];
}

function serviceOf(
  classification: JsonObject,
  itemDescription: string | null,
  rules: OcdsOptions['services'],
): Service | null {
  const [scheme, code] = [textAt(classification, 'scheme') ?? '', textAt(classification, 'id')];
  if (code === null) return null;
  const own = rules.find((rule) => rule.scheme === scheme && code.startsWith(rule.prefix));
  if (own !== undefined) return { id: own.id, name: own.name };
  const described = textAt(classification, 'description') ?? itemDescription;
  const digits = code.replaceAll(/\D/g, '');
  if (/^cpv/i.test(scheme) && digits.length >= 2) {
    const division = digits.slice(0, 2);
    return { id: `cs_cpv_${division}`, name: CPV_DIVISIONS[division] ?? `CPV ${division}` };
  }
  if (/unspsc/i.test(scheme) && digits.length >= 2) {
    return { id: `cs_unspsc_${digits.slice(0, 2)}`, name: `UNSPSC ${digits.slice(0, 2)}` };
  }
  // The names of NIGP's classes are licensed: the publisher's description is used.
  if (/nigp/i.test(scheme) && digits.length >= 3) {
    const padded = [4, 6, 10].includes(digits.length) ? `0${digits}` : digits;
    return { id: `cs_nigp_${padded.slice(0, 3)}`, name: described ?? `NIGP ${padded.slice(0, 3)}` };
  }
  return { id: hashedId('cs_', JSON.stringify([scheme, code]), `${scheme} ${code}`), name: described ?? code };
}
