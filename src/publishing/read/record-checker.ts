import type { Kind } from '../../kinds.ts';
import { lineParser } from './record-parser.ts';
import { describeTooLong } from './record-schemas.ts';

/**
 * Creates a function that finds what an import would refuse in a record, but for its references: what they name can be
 * published already. It knows the records that it has checked, for fields that must be unique.
 */
export function recordChecker(): (kind: Kind, record: object) => { field: string; reason: string }[] {
  const parsers = new Map<Kind, ReturnType<typeof lineParser>>();
  /** The key of the record that has each unique value. */
  const holders = new Map<unknown, string>();
  return (kind, record) => {
    const line = Buffer.from(JSON.stringify(record));
    const tooLong = describeTooLong(kind, line.length);
    if (tooLong !== null) return [{ field: '', reason: tooLong }];
    const parse = parsers.get(kind) ?? lineParser(kind);
    parsers.set(kind, parse);
    const parsed = parse(line);
    if (parsed.type === 'removal') return [];
    if (parsed.type === 'bad') {
      return parsed.problems.map(({ field, reason, found }) => {
        return { field, reason: found === undefined ? reason : `${reason}; found ${found}` };
      });
    }
    const field = UNIQUE[kind];
    if (field === undefined) return [];
    const value = (record as Record<string, unknown>)[field];
    const folded = typeof value === 'string' ? value.toLowerCase() : value;
    const holder = holders.get(folded) ?? parsed.key;
    holders.set(folded, holder);
    return holder === parsed.key
      ? []
      : [{ field, reason: `${JSON.stringify(value)} is also the ${field} of ${holder}` }];
  };
}

/** Fields other than the key that no two records may share; numbers of one kind, texts of the other. */
const UNIQUE: Readonly<Partial<Record<Kind, string>>> = { solicitations: 'ref', certifications: 'name' };
