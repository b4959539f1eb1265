import { cp, mkdir, mkdtemp, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { ROOT } from '../../client/test/support/programs.ts';
import { runProgram, type Outcome } from '../commands/run-pds.ts';
import type { Example } from './examples.ts';

const TSC = join(ROOT, 'node_modules/typescript/bin/tsc');

/** As strict as a careful partner's configuration. */
const COMPILER_OPTIONS = {
  target: 'es2023',
  module: 'nodenext',
  strict: true,
  noUncheckedIndexedAccess: true,
  noEmit: true,
  skipLibCheck: false,
  types: ['node'],
};

/** A folder that runs examples as in a partner's project, with the client installed. */
export interface ExampleProject {
  readonly directory: string;
  /**
   * Runs an example in its own empty folder, `times` times; returns the result of the last run.
   *
   * @param name a folder to run it in again.
   */
  run(example: Example, environment: Record<string, string>, times: number, name?: string): Promise<Outcome>;
  /** Type-checks the examples. */
  checkTypes(examples: readonly Example[]): Promise<Outcome>;
  remove(): Promise<void>;
}

export async function makeExampleProject(): Promise<ExampleProject> {
  const directory = await mkdtemp(join(tmpdir(), 'pds-examples-'));
  await writeFile(join(directory, 'package.json'), '{"type":"module"}');
  const modules = join(directory, 'node_modules');
  await mkdir(join(modules, 'partner-data-client'), { recursive: true });
  await symlink(join(ROOT, 'node_modules/@types'), join(modules, '@types'));
  // Installed as published, so that no build output lands in the source folder.
  await cp(join(ROOT, 'client/package.json'), join(modules, 'partner-data-client/package.json'));
  const built = await runIn(directory, {}, [
    process.execPath,
    TSC,
    ...['-p', join(ROOT, 'client'), '--outDir', join(modules, 'partner-data-client/dist')],
  ]);
  if (built.code !== 0) throw new Error(`the client could not be built:\n${built.stdout}`);

  let number = 0;
  return {
    directory,
    async run(example, environment, times, name = `example-${number++}`) {
      const folder = join(directory, name);
      await mkdir(folder, { recursive: true });
      const command = await writeProgram(folder, { ...example, code: fill(example.code, environment) });
      let ran = await runIn(folder, environment, command);
      for (let time = 1; time < times && ran.code === 0; time++) ran = await runIn(folder, environment, command);
      return ran;
    },
    async checkTypes(examples) {
      const folder = join(directory, 'types');
      await mkdir(folder);
      for (const [index, { code }] of examples.entries()) {
        // Files without an import are not modules by themselves.
        await writeFile(join(folder, `${index}.ts`), `${code}\nexport {};\n`);
      }
      await writeFile(join(folder, 'tsconfig.json'), JSON.stringify({ compilerOptions: COMPILER_OPTIONS }));
      return runIn(folder, {}, [process.execPath, TSC, '-p', folder]);
    },
    remove: () => rm(directory, { recursive: true, force: true }),
  };
}

/** Puts the address and the key into a program, as its page does. */
function fill(
  code: string,
  { PARTNER_DATA_URL: url = '', PARTNER_DATA_KEY: key = '' }: Record<string, string>,
): string {
  return code.replaceAll('http://127.0.0.1:8080', url).replaceAll('<your key>', key);
}

async function writeProgram(folder: string, { language, code }: Example): Promise<string[]> {
  if (language === 'sh') return ['bash', '-c', code];
  // A program in TypeScript says how to run it.
  const [, module = 'example.ts'] = /^\/\/ .*: node (\S+)\n/.exec(code) ?? [];
  const [name, program] = language === 'python' ? ['example.py', 'python3'] : [module, process.execPath];
  const file = join(folder, name);
  if (code.includes('from partner_data import'))
    await cp(join(ROOT, 'client/python/partner_data.py'), join(folder, 'partner_data.py'));
  await writeFile(file, code);
  return [program, file];
}

const runIn = (cwd: string, environment: Record<string, string>, command: readonly string[]): Promise<Outcome> =>
  runProgram(command, { PYTHONDONTWRITEBYTECODE: '1', ...environment }, { cwd, timeout: 60_000 });
