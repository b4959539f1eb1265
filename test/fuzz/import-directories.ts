import { gzipSync } from 'node:zlib';
import fc from 'fast-check';
import { malformedLine, malformedRecord, type Malformed } from './malformed-records.ts';
import { catalogs, type Catalog } from './valid-catalogs.ts';

/** The files of an import directory, by name. */
export interface ImportDirectory {
  readonly files: Readonly<Record<string, Buffer>>;
  /** `right` must be published and `wrong` refused; `unsure` must be one of the two. */
  readonly verdict: 'right' | 'wrong' | 'unsure';
  /** The catalog before mutation. */
  readonly catalog: Catalog;
}

/** A mutation of one record. */
const recordChanges = fc
  .tuple(fc.nat(1_000_000), fc.constantFrom('record', 'line', 'line', 'twice', 'dangling' as const))
  .chain(([place, sort]) => malformedOf(sort).map((malformed) => ({ place, malformed })));

function malformedOf(sort: 'record' | 'line' | 'twice' | 'dangling'): fc.Arbitrary<Malformed> {
  if (sort === 'record') return malformedRecord;
  return sort === 'line' ? malformedLine : fc.constant<Malformed>({ verdict: 'wrong', change: sort });
}

interface RecordChange {
  readonly place: number;
  readonly malformed: Malformed;
}

/** Equivalent ways to write the lines of a file. */
const fileFormats = fc.record({
  newline: fc.constantFrom('\n', '\n', '\r\n', '\n\n', '\n \t\n'),
  begin: fc.constantFrom('', '', '', '\ufeff', '\n', '  '),
  end: fc.constantFrom('', '\n', '\n\n'),
  packing: fc.constantFrom('none', 'none', 'gz', 'two members' as const),
});

interface FileFormat {
  newline: string;
  begin: string;
  end: string;
  packing: string;
}

/** Mutations of the bytes of one finished file. */
const fileChanges: fc.Arbitrary<(bytes: Buffer) => Buffer> = fc.oneof(
  fc
    .double({ min: 0, max: 1, noNaN: true })
    .map((part) => (bytes: Buffer) => bytes.subarray(0, Math.floor(part * bytes.length))),
  fc.tuple(fc.double({ min: 0, max: 1, noNaN: true }), fc.nat(255)).map(([place, value]) => (bytes: Buffer) => {
    const changed = Buffer.from(bytes);
    if (changed.length > 0) changed[Math.min(changed.length - 1, Math.floor(place * changed.length))] = value;
    return changed;
  }),
  fc
    .tuple(fc.double({ min: 0, max: 1, noNaN: true }), fc.uint8Array({ maxLength: 8 }))
    .map(([place, more]) => (bytes: Buffer) => {
      const offset = Math.floor(place * bytes.length);
      return Buffer.concat([bytes.subarray(0, offset), more, bytes.subarray(offset)]);
    }),
  fc.constant((bytes: Buffer) => Buffer.concat([bytes, Buffer.from('trailing garbage')])),
);

/** Directories in the import format: valid ones, written in every way, and mutated ones. */
export const importDirectories: fc.Arbitrary<ImportDirectory> = fc
  .record({
    catalog: catalogs,
    changes: fc.oneof(
      { weight: 1, arbitrary: fc.constant([] as RecordChange[]) },
      { weight: 3, arbitrary: fc.array(recordChanges, { minLength: 1, maxLength: 3 }) },
    ),
    writing: fc.array(fileFormats, { minLength: 7, maxLength: 7 }),
    fileChange: fc.oneof(
      { weight: 6, arbitrary: fc.constant(null) },
      { weight: 1, arbitrary: fc.tuple(fc.nat(6), fileChanges) },
    ),
  })
  .map(({ catalog, changes: chosen, writing, fileChange }) => {
    const changes: readonly RecordChange[] = chosen;
    const lines = Object.entries(catalog).map(([kind, records]): [string, string[]] => [
      kind,
      records.map((record) => JSON.stringify(record)),
    ]);
    for (const change of changes) applyChange(lines, change);
    const files = lines.map(([kind, texts], index): [string, Buffer] =>
      writeFile(kind, texts, writing[index] as FileFormat),
    );
    if (fileChange !== null) {
      const [place, change] = fileChange;
      const file = files[place % files.length];
      if (file !== undefined) file[1] = change(file[1]);
    }
    const verdicts = new Set([
      ...changes.map(({ malformed }) => malformed.verdict),
      ...(fileChange === null ? [] : ['unsure' as const]),
    ]);
    // A second mutation can undo the first.
    const brokenVerdict = verdicts.has('unsure') || changes.length > 1 ? 'unsure' : 'wrong';
    const text = files.map(([name, bytes]) => `${name}:\n${bytes.toString('utf8').slice(0, 1_000)}`).join('\n');
    return {
      [fc.toStringMethod]: () => text,
      files: Object.fromEntries(files),
      verdict: verdicts.size === 0 ? 'right' : brokenVerdict,
      catalog,
    };
  });

function applyChange(lines: [string, string[]][], { place, malformed }: RecordChange): void {
  const all = lines.flatMap(([, texts]) => texts.map((text, index) => ({ texts, index, text })));
  const chosen = all[place % all.length];
  if (chosen === undefined) return;
  const { texts, index, text } = chosen;
  if (malformed.change === 'twice') texts.push(text);
  else if (malformed.change === 'dangling') lines.find(([kind]) => kind === 'contracts')?.[1].push(DANGLING);
  else texts[index] = malformed.change(text, place);
}

const DANGLING = JSON.stringify({ id: 'ctr_dangling', name: 'Dangling', lead_entity_id: 'le_of_nobody' });

function writeFile(
  kind: string,
  lines: readonly string[],
  { newline, begin, end, packing }: FileFormat,
): [string, Buffer] {
  const bytes = Buffer.from(begin + lines.join(newline) + end, 'utf8');
  const raw = Buffer.concat(splitRaw(bytes));
  if (packing === 'none') return [`${kind}.ndjson`, raw];
  const half = Math.floor(raw.length / 2);
  const packed =
    packing === 'gz' ? gzipSync(raw) : Buffer.concat([gzipSync(raw.subarray(0, half)), gzipSync(raw.subarray(half))]);
  return [`${kind}.ndjson.gz`, packed];
}

/** Replaces the private-use characters that represent invalid UTF-8 by their bytes. */
function splitRaw(bytes: Buffer): Buffer[] {
  const text = bytes.toString('utf8');
  return text
    .split(/([\uf780-\uf7ff])/)
    .map((part) => (/^[\uf780-\uf7ff]$/.test(part) ? Buffer.from([part.charCodeAt(0) - 0xf700]) : Buffer.from(part)));
}
