import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { startProgram, type MirrorProcess } from '../mirror/support/mirror-process.ts';

/** The folder of `partner_data.py`. */
export const PYTHON_FOLDER = fileURLToPath(new URL('../../python', import.meta.url));

/** Debian's Python, if there are several. It writes no compiled code into the source folder. */
const ENVIRONMENT = {
  PATH: `/usr/bin:${process.env['PATH']}`,
  PYTHONPATH: PYTHON_FOLDER,
  PYTHONDONTWRITEBYTECODE: '1',
};

/** Starts Python with these arguments. */
export function startPython(args: readonly string[], environment: Readonly<Record<string, string>>): MirrorProcess {
  return startProgram('python3', args, { ...ENVIRONMENT, ...environment });
}

/** Starts the mirror in `partner_data.py` on a copy. */
export function startPythonMirror(path: string, environment: Readonly<Record<string, string>>): MirrorProcess {
  return startPython([join(PYTHON_FOLDER, 'partner_data.py'), 'mirror', path], environment);
}
