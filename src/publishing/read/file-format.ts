import { ProblemList, problemOf } from '../problems.ts';
import type { Source } from './source.ts';

/** Enough to recognize a file's format from its first line. */
const MAX_BEGINNING_BYTES = 16 * 1024;

/** The first bytes of archives, hexadecimal. */
const PACKED = { gzip: '1f8b', zip: '504b0304', zstd: '28b52ffd', xz: 'fd377a58', bzip2: '425a68' };

/**
 * Refuses files that begin like another format: one hint is more useful than an error per line.
 *
 * @throws ImportRefusedError with one problem per file: what it is, what is expected and how to convert it.
 */
export async function refuseOtherFormats(sources: readonly Source[]): Promise<void> {
  const problems = new ProblemList();
  for (const source of sources) {
    const reason = describeOtherFormat(await readBeginning(source), source.name);
    if (reason !== null) problems.add(problemOf(source.name, reason));
  }
  problems.throwIfAny();
}

async function readBeginning(source: Source): Promise<Buffer> {
  try {
    for await (const chunk of source.open()) return Buffer.from(chunk).subarray(0, MAX_BEGINNING_BYTES);
  } catch {
    // A broken file or archive is reported when it is read in full.
  }
  return Buffer.alloc(0);
}

function describeOtherFormat(beginning: Buffer, name: string): string | null {
  const plainName = name.replace(/\.gz$/, '');
  const utf16 = utf16Encoding(beginning);
  if (utf16 !== null) {
    return `is UTF-16; UTF-8 is expected. Convert it: ${conversion(name, `iconv -f ${utf16} -t UTF-8`)}`;
  }
  const bytes = beginning.toString('hex', 0, 4);
  const packed = Object.entries(PACKED).find(([, mark]) => bytes.startsWith(mark));
  if (packed !== undefined)
    return `is packed as ${packed[0]}; plain text is expected, or one gzip archive named ${plainName}.gz`;
  const text = beginning
    .toString('utf8')
    .replace(/^\ufeff/, '')
    .trimStart();
  const [first = '', second = ''] = text.split('\n', 2).map((line) => line.trim());
  if (text.startsWith('[')) {
    return `contains a JSON array; one JSON object per line is expected. Convert it: ${conversion(name, "jq -c '.[]'")}`;
  }
  if (text.startsWith('{') && !first.endsWith('}') && second !== '' && !second.startsWith('{')) {
    return `contains JSON objects over several lines; one object per line is expected. Convert it: ${conversion(name, 'jq -c .')}`;
  }
  if (/^"?\w+"?([,;\t] *"?\w+"?)+$/.test(first)) {
    return 'contains a table (CSV); one JSON object per line is expected. Export it as newline-delimited JSON';
  }
  return null;
}

/** Commands that convert an import file in place. They stop at the first failure without losing the original. */
function conversion(name: string, converter: string): string {
  const plainName = name.replace(/\.gz$/, '');
  const unpacked = plainName === name ? '' : `gunzip ${name} && `;
  return `${unpacked}${converter} ${plainName} > ${plainName}.tmp && mv ${plainName}.tmp ${plainName}`;
}

/** iconv's name for the encoding. With plain UTF-16, iconv would guess the byte order if there is no BOM. */
function utf16Encoding(bytes: Buffer): 'UTF-16LE' | 'UTF-16BE' | null {
  const [first, second] = bytes;
  // Without a BOM, ASCII text in UTF-16 has a NUL in every other byte.
  if ((first === 0xff && second === 0xfe) || (first !== 0 && second === 0)) return 'UTF-16LE';
  return (first === 0xfe && second === 0xff) || (first === 0 && second !== 0) ? 'UTF-16BE' : null;
}
