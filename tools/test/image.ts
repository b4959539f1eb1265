import { execFile, spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { cpSync, copyFileSync, mkdirSync, mkdtempSync, readFileSync, statSync } from 'node:fs';
import { basename, isAbsolute, join, relative } from 'node:path';
import { promisify } from 'node:util';
import { Copy, DockerfileParser, Env, From, Healthcheck, JSONInstruction, type Instruction } from 'dockerfile-ast';
import { ROOT } from '../../test/docs/documents.ts';
import { Workspace } from '../../test/support/cluster/workspace.ts';
import { npmSettings } from '../../test/support/npm-settings.ts';

const run = promisify(execFile);

export const CONTAINERFILE = readFileSync(join(ROOT, 'Containerfile'), 'utf8');

/** Folders that `.dockerignore` keeps out of the context. */
const IGNORED = new Set(['node_modules', 'dist', '.astro']);

/** The base's Node. */
const NODE = '/nodejs/bin/node';

/** Steps that take minutes. The setup of the tests has built the site in the same way. */
const STAND_INS: Readonly<Record<string, (folder: string) => void>> = {
  'npm ci --ignore-scripts': () => undefined,
  'npm run portal': (folder) => {
    cpSync(join(ROOT, 'portal/dist'), join(folder, 'portal/dist'), { recursive: true });
  },
};

/** A stage: its folder is the root of its files. */
class Stage {
  readonly root: string;
  readonly settings: Record<string, string> = {};
  readonly environment: Record<string, string> = {};
  workdir = '/';

  constructor(root: string) {
    this.root = root;
  }

  /** Puts a path of the image below the root; other text is unchanged. */
  place(text: string): string {
    return text.replaceAll(/(?<=^|[\s:])\/(?=(?:app|data|nodejs)\b)/g, `${this.root}/`);
  }

  /** The folder of a path in this stage. */
  resolve(path: string): string {
    return join(this.root, isAbsolute(path) ? path : join(this.workdir, path));
  }

  /** The words of a setting in JSON, below the root. */
  words(setting: string): string[] {
    return (JSON.parse(this.settings[setting] ?? '[]') as string[]).map((word) => this.place(word));
  }
}

/**
 * The image that the Containerfile describes, in folders instead of an engine. Its programs run with an empty environment,
 * and as another user if the tests run as root. They can write to `/data` only.
 */
export class Image {
  readonly #workspace: Workspace;
  readonly #stage: Stage;

  private constructor(workspace: Workspace, stage: Stage) {
    this.#workspace = workspace;
    this.#stage = stage;
  }

  static async build(): Promise<Image> {
    const workspace = new Workspace();
    try {
      return await Image.#buildIn(workspace);
    } catch (error) {
      await workspace.close();
      throw error;
    }
  }

  static async #buildIn(workspace: Workspace): Promise<Image> {
    const stages = new Map<string, Stage>();
    let stage = new Stage(workspace.folder);
    for (const instruction of DockerfileParser.parse(CONTAINERFILE).getInstructions()) {
      if (instruction instanceof From) {
        stage = new Stage(mkdtempSync(workspace.path('stage-')));
        stages.set(instruction.getBuildStage() ?? '', stage);
      } else await take(instruction, stage, stages);
    }
    mkdirSync(join(stage.root, 'nodejs/bin'), { recursive: true });
    copyFileSync(process.execPath, join(stage.root, NODE));
    await run('chmod', ['-R', 'a+rX,a-w', stage.root]);
    await run('chmod', ['u+w', join(stage.root, 'data')]);
    const { runAs } = workspace;
    if (runAs !== null) await run('chown', [`${runAs.uid}:${runAs.gid}`, join(stage.root, 'data')]);
    return new Image(workspace, stage);
  }

  /** The value of an instruction of the last stage. */
  setting(name: string): string {
    return this.#stage.settings[name] ?? '';
  }

  /** The folder of a path in the image. */
  path(path: string): string {
    return this.#stage.resolve(path);
  }

  /** The bytes of all files in the image, without the base. */
  async contentBytes(): Promise<number> {
    const { stdout } = await run('find', [this.path('/app'), '-type', 'f', '-printf', '%s\n']);
    return stdout.split('\n').reduce((sum, size) => sum + Number(size), 0);
  }

  /** Starts the image's command, with further settings. */
  start(settings: Readonly<Record<string, string>>): ChildProcess {
    const [program = '', ...args] = [...this.#stage.words('ENTRYPOINT'), ...this.#stage.words('CMD')];
    const child = spawn(program, args, { ...this.#options(settings), stdio: ['ignore', 'ignore', 'inherit'] });
    if (child.pid === undefined) throw new Error(`${program} could not be started`);
    this.#workspace.guard(child.pid, 'SIGKILL', once(child, 'exit'));
    return child;
  }

  /** Runs `pds` as the image does; returns its standard output. */
  async pds(...args: readonly string[]): Promise<string> {
    const [program = '', ...words] = this.#stage.words('ENTRYPOINT');
    const { stdout } = await run(program, [...words, ...args.map((arg) => this.#stage.place(arg))], this.#options({}));
    return stdout.trim();
  }

  /** Runs the health check. */
  async isHealthy(settings: Readonly<Record<string, string>>): Promise<boolean> {
    const [program = '', ...args] = this.#stage.words('HEALTHCHECK');
    return run(program, args, this.#options(settings)).then(
      () => true,
      () => false,
    );
  }

  /** Runs a shell command as the image's user; returns whether it succeeds. */
  async succeeds(command: string): Promise<boolean> {
    return run('sh', ['-c', this.#stage.place(command)], this.#options({})).then(
      () => true,
      () => false,
    );
  }

  async close(): Promise<void> {
    await run('chmod', ['-R', 'u+w', this.#stage.root]);
    await this.#workspace.close();
  }

  #options(settings: Readonly<Record<string, string>>): object {
    const env: Record<string, string> = {};
    for (const [name, value] of Object.entries(this.#stage.environment)) env[name] = this.#stage.place(value);
    return {
      env: { ...env, ...settings },
      cwd: this.path(this.#stage.workdir),
      ...this.#workspace.runAs,
    };
  }
}

async function take(instruction: Instruction, stage: Stage, stages: ReadonlyMap<string, Stage>): Promise<void> {
  const name = instruction.getKeyword();
  const text = instruction.getArgumentsContent() ?? '';
  if (instruction instanceof Copy) copy(instruction, stage, stages);
  else if (instruction instanceof Env) {
    for (const property of instruction.getProperties())
      stage.environment[property.getName()] = property.getValue() ?? '';
  } else if (instruction instanceof Healthcheck) {
    stage.settings[name] = text.slice(text.indexOf('['));
  } else if (name === 'WORKDIR') {
    stage.workdir = text;
    mkdirSync(stage.resolve(text), { recursive: true });
  } else if (name === 'RUN') await execute(text, stage);
  else if (instruction instanceof JSONInstruction || ['USER', 'EXPOSE', 'STOPSIGNAL'].includes(name)) {
    stage.settings[name] = text;
  } else throw new Error(`the tests cannot take the step ${name} of the Containerfile`);
}

async function execute(command: string, stage: Stage): Promise<void> {
  const folder = stage.resolve('.');
  const standIn = STAND_INS[command];
  if (standIn !== undefined) {
    standIn(folder);
    return;
  }
  // Packages that are in npm's cache are not downloaded again.
  const { PATH, HOME } = process.env;
  await run('sh', ['-c', stage.place(command)], {
    cwd: folder,
    env: { PATH, HOME, ...npmSettings(), npm_config_prefer_offline: 'true' },
  });
}

/** Copies files, and the contents of folders. */
function copy(instruction: Copy, stage: Stage, stages: ReadonlyMap<string, Stage>): void {
  const from = instruction
    .getFlags()
    .find((flag) => flag.getName() === 'from')
    ?.getValue();
  const paths = instruction.getArguments().map((argument) => argument.getValue());
  const target = stage.resolve(paths.pop() ?? '');
  for (const path of paths) {
    const source = from == null ? join(ROOT, path) : stages.get(from)?.resolve(path);
    if (source === undefined) throw new Error(`the Containerfile has no stage ${from}`);
    const isFolder = statSync(source).isDirectory();
    cpSync(source, isFolder ? target : join(target, basename(source)), {
      recursive: true,
      verbatimSymlinks: true,
      filter: (file) =>
        from != null ||
        !relative(ROOT, file)
          .split('/')
          .some((part) => IGNORED.has(part)),
    });
  }
}
