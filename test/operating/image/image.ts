import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { Workspace } from '../../support/cluster/workspace.ts';
import { makeBaseImages, readNpmrc } from './base-images.ts';
import { Buildah } from './buildah.ts';

/** The configuration that an image carries. */
interface ImageConfig {
  readonly User: string;
  readonly Env: readonly string[];
  readonly ExposedPorts: object;
  readonly Volumes: object;
  readonly StopSignal: NodeJS.Signals;
  readonly Entrypoint: readonly string[];
  readonly Cmd: readonly string[];
  readonly Healthcheck: { readonly Test: readonly string[] };
}

type Settings = Readonly<Record<string, string>>;

/** An image built from the Containerfile, and a container of it, with its volume. The caller must close it. */
export class Image {
  readonly config: ImageConfig;
  /** The container's files, without its volume. */
  readonly root: string;
  readonly #buildah: Buildah;
  readonly #container: string;

  private constructor(buildah: Buildah, container: string, root: string, config: ImageConfig) {
    this.#buildah = buildah;
    this.#container = container;
    this.root = root;
    this.config = config;
  }

  /** Builds an image with the arguments of `docker build`, the last of them its tag and folder. */
  static async build(args: readonly string[]): Promise<Image> {
    const workspace = new Workspace();
    try {
      const buildah = new Buildah(workspace);
      await makeBaseImages(buildah);
      const npmrc = workspace.write('npmrc', await readNpmrc());
      const options = ['--pull-never', '--format', 'docker', '--secret', `id=npmrc,src=${npmrc}`];
      await buildah.run('build', ...options, ...args);
      const tag = args.at(-2) ?? '';
      const inspected = JSON.parse(await buildah.run('inspect', '--type', 'image', tag)) as {
        Docker: { config: ImageConfig };
      };
      const container = await buildah.run('from', '--pull-never', tag);
      return new Image(buildah, container, await buildah.run('mount', container), inspected.Docker.config);
    } catch (error) {
      await workspace.close();
      throw error;
    }
  }

  /** Runs `pds` as an engine does, with a folder of this machine as `/import`; returns its standard output. */
  pds(args: readonly string[], folder?: string): Promise<string> {
    const options = folder === undefined ? [] : ['--volume', `${folder}:/import:ro`];
    return this.#buildah.run(...this.#inContainer(options, [...this.config.Entrypoint, ...args]));
  }

  /** Runs a module of JavaScript by the image's Node, among its packages; returns its standard output. */
  node(script: string): Promise<string> {
    const [node = ''] = this.config.Entrypoint;
    return this.#buildah.run(
      ...this.#inContainer(['--workingdir', '/app'], [node, '--input-type=module', '--eval', script]),
    );
  }

  /** Runs the health check. */
  async isHealthy(settings: Settings): Promise<boolean> {
    const [, ...command] = this.config.Healthcheck.Test;
    return this.#buildah.run(...this.#inContainer(withSettings(settings), command)).then(
      () => true,
      () => false,
    );
  }

  /** Starts the image's command; returns its process, and the code with which it exits. */
  async start(settings: Settings): Promise<{ pid: number; exitCode: Promise<number | null> }> {
    const command = [...this.config.Entrypoint, ...this.config.Cmd];
    const running = this.#buildah.start(...this.#inContainer(withSettings(settings), command));
    const exitCode = once(running, 'exit').then(([code]) => code as number | null);
    // Engines send signals to the process itself, Buildah kills it instead. Each line of its log has its id.
    const [line] = (await once(createInterface(running.stdout), 'line')) as [string];
    return { pid: (JSON.parse(line) as { pid: number }).pid, exitCode };
  }

  close(): Promise<void> {
    return this.#buildah.workspace.close();
  }

  #inContainer(options: readonly string[], command: readonly string[]): string[] {
    return ['run', ...options, this.#container, '--', ...command];
  }
}

function withSettings(settings: Settings): string[] {
  return Object.entries(settings).flatMap(([name, value]) => ['--env', `${name}=${value}`]);
}
