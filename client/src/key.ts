import { UnexpectedAnswerError } from './errors.ts';
import type { Key } from './generated/types.gen.ts';
import type { RequestOptions, Transport } from './transport.ts';

/** Fetches what the service says of the key. Throws as `Transport.get` does. */
export async function getKey(transport: Transport, options?: RequestOptions): Promise<Key> {
  const { data, info } = await transport.get<Key>('/v1/key', options);
  if (typeof data.partner !== 'string' || !Array.isArray(data.kinds))
    throw new UnexpectedAnswerError(info.status, `${info.path}: the response is not that of a key`);
  return data;
}
