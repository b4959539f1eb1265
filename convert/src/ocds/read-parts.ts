import { createReadStream } from 'node:fs';
import { open } from 'node:fs/promises';
import { pipeline } from 'node:stream';
import { createGunzip } from 'node:zlib';
import { Assembler } from 'stream-json/assembler.js';
import { jsonParser, type Token } from 'stream-json/parser.js';
import { isObject, MAX_DEPTH, objectsAt, textAt, type JsonObject } from '../json.ts';

/** A release, a compiled release, or a link to a release that is published elsewhere. */
interface OcdsPart {
  form: 'release' | 'compiled' | 'linked';
  ocid: string | null;
  value: JsonObject;
  /** Such as `releases[12]`, or `document 2: records[0].compiledRelease`. */
  place: string;
}

/** An input file is not JSON, or is JSON of another form. */
export class UnreadableInputError extends Error {
  override name = 'UnreadableInputError';
  readonly place: string;

  constructor(place: string, reason: string) {
    super(reason);
    this.place = place;
  }
}

const STREAMED_LISTS = ['releases', 'records'];

/** Of one record or release, in characters without white space: far beyond any, and it must fit into memory. */
const MAX_LENGTH = 16 * 1024 * 1024;
const TOO_LONG = 'is longer than 16 MiB: is this OCDS?';

/** As for an import: releases compress to a twentieth of their size, a decompression bomb to a thousandth. */
const MAX_EXPANSION_RATIO = 250;
const HARMLESS_BYTES = 64 * 1024 * 1024;

const NEITHER = 'is neither a release, a record nor a package of OCDS';

/**
 * Numbers become text, since most are ids. One that would be rounded, and so could equal another, stays as it is; all
 * others are spelled in one way, so that `1.0` equals `1`.
 */
class TextAssembler extends Assembler {
  override numberValue(text: string): void {
    this.stringValue(Number.isSafeInteger(Number(text)) ? String(Number(text)) : text);
  }
}

/**
 * Reads the releases and records of a file: packages, records, releases, lists of these, one after the other or one a
 * line, compressed with gzip or not. The entries of a package are read one at a time, because a package can have a
 * gigabyte.
 *
 * @param onRead called with the number of bytes read from disk.
 * @throws UnreadableInputError
 */
export async function* readParts(path: string, onRead: (bytes: number) => void): AsyncGenerator<OcdsPart> {
  const parse = jsonParser({ jsonStreaming: true, streamValues: false });
  const documents = new DocumentReader();
  const decoder = new TextDecoder('utf-8', { fatal: true });
  /** The length of a text that has not ended. */
  let openLength = 0;
  for await (const text of decoded(path, decoder, onRead)) {
    let tokens;
    try {
      tokens = listOf(parse(text));
    } catch (error) {
      throw new UnreadableInputError(documents.place, (error as Error).message);
    }
    openLength = tokens.length === 0 ? openLength + text.length : 0;
    if (openLength > MAX_LENGTH) throw new UnreadableInputError(documents.place, TOO_LONG);
    for (const token of tokens) {
      documents.take(token);
      yield* documents.parts.splice(0);
    }
  }
  documents.end();
  yield* documents.parts.splice(0);
}

async function* decoded(path: string, decoder: TextDecoder, onRead: (bytes: number) => void): AsyncGenerator<string> {
  const file = createReadStream(path, { highWaterMark: 1 << 18 });
  let readBytes = 0;
  let unpackedBytes = 0;
  const unpack = createGunzip({ chunkSize: 1 << 18 });
  const bytes = (await isGzip(path)) ? pipeline(file, unpack, () => undefined) : file;
  try {
    for await (const chunk of bytes) {
      unpackedBytes += (chunk as Uint8Array).length;
      if (unpackedBytes > Math.max(HARMLESS_BYTES, MAX_EXPANSION_RATIO * file.bytesRead)) {
        throw new Error(`unpacks to more than ${MAX_EXPANSION_RATIO} times its size`);
      }
      onRead(file.bytesRead - readBytes);
      readBytes = file.bytesRead;
      yield decoder.decode(chunk as Uint8Array, { stream: true });
    }
    // A number at the end of a file ends with it.
    yield `${decoder.decode()}\n`;
  } catch (error) {
    if (error instanceof TypeError) throw new UnreadableInputError('', 'is not UTF-8');
    throw new UnreadableInputError('', (error as Error).message);
  }
}

async function isGzip(path: string): Promise<boolean> {
  const file = await open(path);
  try {
    const { buffer } = await file.read(Buffer.alloc(2), 0, 2, 0);
    return buffer[0] === 0x1f && buffer[1] === 0x8b;
  } finally {
    await file.close();
  }
}

function listOf(tokens: unknown): readonly Token[] {
  return isObject(tokens) && Array.isArray(tokens['values']) ? (tokens['values'] as Token[]) : [];
}

/** Assembles JSON documents from tokens, but lets go of each entry of a package as soon as it is whole. */
class DocumentReader {
  readonly parts: OcdsPart[] = [];
  /** The document without the entries of its lists. */
  #document = new TextAssembler();
  #entry: Assembler | null = null;
  #number = 1;
  /** The list that is read entry by entry, and the number of its entries so far. */
  #list: { name: string; count: number } | null = null;
  #hasLists = false;
  #links: OcdsPart[] = [];
  /** Of the open entry, and of the document without its entries. */
  readonly #lengths = { entry: 0, document: 0 };

  get place(): string {
    const place = this.#list === null ? '' : `${this.#list.name}[${this.#list.count}]`;
    return this.#placeOf(place);
  }

  /** @throws UnreadableInputError if it belongs to no OCDS, or to more of it than fits into memory. */
  take(token: Token): void {
    const part = this.#entry === null ? 'document' : 'entry';
    this.#lengths[part] += 2 + ('value' in token ? String(token.value).length : 0);
    if (this.#lengths[part] > MAX_LENGTH) throw new UnreadableInputError(this.place, TOO_LONG);
    if (this.#entry !== null) {
      this.#entry.consume(token);
      if (this.#entry.done) this.#endEntry(this.#entry.current);
      return;
    }
    if (this.#list !== null && token.name !== 'endArray') {
      this.#entry = new TextAssembler();
      this.take(token);
      return;
    }
    this.#document.consume(token);
    if (token.name === 'endArray') this.#list = null;
    if (token.name === 'startArray' && this.#document.depth <= 2) {
      const isWhole = this.#document.depth === 1;
      const name = isWhole ? '' : STREAMED_LISTS.find((list) => this.#document.path[0] === list);
      this.#list = name === undefined ? null : { name, count: 0 };
      this.#hasLists ||= name !== undefined;
    }
    if (this.#document.done) this.#endDocument(this.#document.current);
  }

  /** @throws UnreadableInputError if the last document is not complete. */
  end(): void {
    if (!this.#document.done) throw new UnreadableInputError(this.place, 'ends in the middle of a JSON document');
  }

  #endEntry(value: unknown): void {
    const { name = '', count = 0 } = this.#list ?? {};
    this.#entry = null;
    this.#lengths.entry = 0;
    const place = this.#placeOf(`${name}[${count}]`);
    if (this.#list !== null) this.#list.count += 1;
    if (name === '') this.#takeAny(value, place);
    else if (name === 'records') this.#takeRecord(value, place);
    else this.#takeRelease(value, null, place);
  }

  #endDocument(value: unknown): void {
    const place = this.#placeOf('');
    if (!this.#hasLists) this.#takeAny(value, place);
    else if (isObject(value)) {
      const ocid = textAt(value, 'ocid');
      if (isObject(value['compiledRelease'])) this.#addCompiled(value['compiledRelease'], ocid, place);
      for (const link of this.#links) this.parts.push({ ...link, ocid });
    }
    this.#document = new TextAssembler();
    this.#lengths.document = 0;
    this.#hasLists = false;
    this.#links = [];
    this.#number += 1;
  }

  #takeAny(value: unknown, place: string, depth = 0): void {
    if (Array.isArray(value) && depth < MAX_DEPTH) {
      value.forEach((item, index) => this.#takeAny(item, joined(place, `[${index}]`), depth + 1));
    } else if (!isObject(value)) {
      throw new UnreadableInputError(place, NEITHER);
    } else if (Array.isArray(value['records'])) {
      value['records'].forEach((record, index) => this.#takeRecord(record, joined(place, `records[${index}]`)));
    } else if (
      isObject(value['compiledRelease']) ||
      (Array.isArray(value['releases']) && value['ocid'] !== undefined)
    ) {
      this.#takeRecord(value, place);
    } else if (Array.isArray(value['releases'])) {
      value['releases'].forEach((release, index) =>
        this.#takeRelease(release, null, joined(place, `releases[${index}]`)),
      );
    } else if (value['ocid'] !== undefined) this.#takeRelease(value, null, place);
    else throw new UnreadableInputError(place, NEITHER);
  }

  #takeRecord(value: unknown, place: string): void {
    if (!isObject(value)) throw new UnreadableInputError(place, 'is not an OCDS record');
    const ocid = textAt(value, 'ocid');
    objectsAt(value, 'releases').forEach((release, index) =>
      this.#takeRelease(release, ocid, joined(place, `releases[${index}]`)),
    );
    if (isObject(value['compiledRelease'])) this.#addCompiled(value['compiledRelease'], ocid, place);
  }

  #addCompiled(value: JsonObject, ocid: string | null, place: string): void {
    const part = { form: 'compiled', ocid: textAt(value, 'ocid') ?? ocid, value } as const;
    this.parts.push({ ...part, place: joined(place, 'compiledRelease') });
  }

  #takeRelease(value: unknown, ocid: string | null, place: string): void {
    if (!isObject(value)) throw new UnreadableInputError(place, 'is not an OCDS release');
    const isLink = value['ocid'] === undefined && typeof value['url'] === 'string';
    const part: OcdsPart = { form: isLink ? 'linked' : 'release', ocid: textAt(value, 'ocid') ?? ocid, value, place };
    // The ocid of a record can follow its releases.
    if (isLink && ocid === null) this.#links.push(part);
    else this.parts.push(part);
  }

  #placeOf(place: string): string {
    if (this.#number === 1) return place;
    return place === '' ? `document ${this.#number}` : `document ${this.#number}: ${place}`;
  }
}

function joined(outer: string, inner: string): string {
  return outer === '' || inner.startsWith('[') ? `${outer}${inner}` : `${outer}.${inner}`;
}
