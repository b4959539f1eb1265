import { isObject, textAt } from '../json.ts';
import { parseMapText, refuseUnknown } from '../map-checks.ts';
import { InputError } from '../input-error.ts';

/** How OCDS is converted. */
export interface OcdsOptions {
  /** Which contracts become records; see `contracts.ts`. */
  contracts: 'current' | 'signed' | 'awards' | 'none';
  /** Contracts that end before this time are not current; UTC with milliseconds. */
  asOf: string;
  /** The IANA time zone of dates without a time; null to refuse them. */
  zone: string | null;
  /** The status of the format for statuses that OCDS does not have. */
  statuses: Readonly<Record<string, string>>;
  /** The operator's own services. A classification whose code begins with `prefix` becomes the first that fits. */
  services: readonly { scheme: string; prefix: string; id: string; name: string }[];
}

const STATUSES = ['draft', 'open', 'closed', 'awarded', 'cancelled'];

/**
 * Reads the operator's own look-ups: `{"status": {"Primirea ofertelor": "open"}, "services": [{"scheme": "CPV",
 * "prefix": "45", "id": "cs_construction", "name": "Construction"}]}`.
 *
 * @throws InputError
 */
export function parseOcdsMap(text: string, name: string): Pick<OcdsOptions, 'statuses' | 'services'> {
  const map = parseMapText(text, name);
  refuseUnknown(map, ['status', 'services'], name);
  const { status: statuses = {}, services: rules = [] } = map;
  if (!isObject(statuses)) {
    throw new InputError(
      `${name}: status ${JSON.stringify(statuses)} must be an object, such as {"Advertised": "open"}`,
    );
  }
  const wrong = Object.entries(statuses).find(([, status]) => !STATUSES.some((accepted) => accepted === status));
  if (wrong !== undefined) {
    const [from, to] = wrong.map((one) => JSON.stringify(one));
    throw new InputError(`${name}: status ${from} becomes ${to}, which is not one of ${STATUSES.join(', ')}`);
  }
  if (!Array.isArray(rules))
    throw new InputError(`${name}: services ${JSON.stringify(rules)} must be a list of objects`);
  const services = rules.map((rule: unknown, index) => {
    const [scheme, prefix, id, label] = ['scheme', 'prefix', 'id', 'name'].map((key) => textAt(rule, key));
    if (!isObject(rule) || scheme == null || id == null || label == null) {
      const accepted = 'must be an object with scheme, id and name, and can have prefix';
      throw new InputError(`${name}: services[${index}] ${JSON.stringify(rule)} ${accepted}`);
    }
    return { scheme, prefix: prefix ?? '', id, name: label };
  });
  return { statuses: statuses as Record<string, string>, services };
}
