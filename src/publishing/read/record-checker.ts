import type { Kind } from '../../kinds.ts';
import { lineParser } from './record-parser.ts';
import { describeTooLong } from './record-schemas.ts';

/**
 * Creates a function that returns why an import would refuse a record. It skips references, since what they name can be
 * published already, and compares unique fields with the records that it has checked before.
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

/** Unique fields other than the key: numbers of one kind and texts of the other, so that `holders` needs no kind. */
const UNIQUE: Readonly<Partial<Record<Kind, string>>> = { solicitations: 'ref', certifications: 'name' };
