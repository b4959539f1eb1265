/**
 * Decodes UTF-8, or UTF-16 with a byte order mark. In any other encoding, letters would become U+FFFD, and different
 * names equal.
 */
export async function* decodeText(chunks: AsyncIterable<Uint8Array>): AsyncGenerator<string> {
  let decoder: TextDecoder | undefined;
  try {
    for await (const chunk of chunks) {
      const isUtf16 = chunk[0] === 0xff && chunk[1] === 0xfe;
      decoder ??= new TextDecoder(isUtf16 ? 'utf-16le' : 'utf-8', { fatal: true });
      yield decoder.decode(chunk, { stream: true });
    }
    yield decoder?.decode() ?? '';
  } catch (error) {
    if (error instanceof TypeError) throw new Error('it is not UTF-8; save it as "CSV UTF-8"', { cause: error });
    throw error;
  }
}
