import { cpSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { ROOT, runNpm } from './programs.ts';

/** The client as users install it. */
export interface InstalledClient {
  /** Path of the tarball from `npm pack`. */
  readonly tarball: string;
  /** The folder it was packed from, including `dist`. */
  readonly source: string;
  /** An otherwise empty project with the client installed and its examples in `examples/`. */
  readonly project: string;
  remove(): void;
}

/** Builds, packs and installs the client outside the working tree. The caller removes it. */
export async function installPackedClient(): Promise<InstalledClient> {
  const folder = mkdtempSync(join(tmpdir(), 'pds-client-'));
  const [source, project] = [join(folder, 'workspace', 'client'), join(folder, 'project')];
  cpSync(join(ROOT, 'client'), source, {
    recursive: true,
    filter: (path) => !['dist', 'node_modules', 'test'].includes(basename(path)),
  });
  cpSync(join(ROOT, 'tsconfig.json'), join(folder, 'workspace', 'tsconfig.json'));
  symlinkSync(join(ROOT, 'node_modules'), join(folder, 'workspace', 'node_modules'));
  const [packed] = Object.values(
    JSON.parse(await runNpm(['pack', '--json', '--pack-destination', folder], source)) as { filename: string }[],
  );
  const tarball = join(folder, packed?.filename ?? '');
  cpSync(join(ROOT, 'client', 'examples'), join(project, 'examples'), { recursive: true });
  writeFileSync(join(project, 'package.json'), JSON.stringify({ private: true, type: 'module' }));
  await runNpm(['install', '--offline', tarball], project);
  return { tarball, source, project, remove: () => rmSync(folder, { recursive: true, force: true }) };
}
