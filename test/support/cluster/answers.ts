import { once } from 'node:events';
import { connect } from 'node:net';

const TIMEOUT_MS = 1_000;

/**
 * Checks that a port on 127.0.0.1 accepts connections and, if `say` is given, that the reply starts with `expected`.
 *
 * @throws Error if the connection fails or nothing comes back within 1 s.
 */
export async function answers(port: number, say?: string, expected = ''): Promise<boolean> {
  const socket = connect(port, '127.0.0.1').setTimeout(TIMEOUT_MS, () => socket.destroy(new Error('no answer')));
  try {
    await once(socket, 'connect');
    if (say === undefined) return true;
    socket.write(say);
    const [bytes] = (await once(socket, 'data')) as [Buffer];
    return bytes.toString('latin1').startsWith(expected);
  } finally {
    socket.destroy();
  }
}
