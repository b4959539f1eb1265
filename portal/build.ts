import { execFile } from 'node:child_process';
import { hash } from 'node:crypto';
import { copyFile, glob, mkdir, readFile, readdir, rename, rm, stat, writeFile } from 'node:fs/promises';
import { basename, extname, join } from 'node:path';
import { promisify } from 'node:util';
import { brotliCompress, constants, gzip } from 'node:zlib';

// Builds the site into dist/, which the service serves.
//   node build.ts                  always; `npm ci` does this
//   node build.ts --if-outdated    only if a source is newer than dist/

const ROOT = import.meta.dirname;
const DIST = join(ROOT, 'dist');
const SOURCES = [
  '{src,public}/**',
  '*.{ts,json}',
  '../client/{src/**,examples/**,python/**,*.md,*.json,*.js}',
  '../mcp/{src/**,*.md,*.json,*.js}',
  '../docs/partner-guide/**',
  '../docs/pictures/*',
  '../docs/openapi.json',
  '../package-lock.json',
];

const COMPRESSIBLE = new Set(['.html', '.js', '.css', '.svg', '.json', '.md', '.txt']);

if (!process.argv.includes('--if-outdated') || (await isOutdated())) await build();

async function isOutdated(): Promise<boolean> {
  const built = await stat(join(DIST, '404.html')).catch(() => null);
  if (built === null) return true;
  for await (const file of glob(SOURCES, { cwd: ROOT })) {
    if ((await stat(join(ROOT, file))).mtimeMs > built.mtimeMs) return true;
  }
  return false;
}

async function build(): Promise<void> {
  const [client, server] = [await pack('client'), await pack('mcp')];
  process.env.CLIENT_INTEGRITY = client.integrity;
  process.env.SERVER_INTEGRITY = server.integrity;
  // Vitest sets NODE_ENV to "test", for which Vite leaves out the search.
  Object.assign(process.env, { ASTRO_TELEMETRY_DISABLED: '1', NODE_ENV: 'production' });
  const astro = await import('astro');
  await astro.build({ root: ROOT, logLevel: 'error' });
  // Astro empties the folder first.
  for (const { tarball } of [client, server]) await rename(tarball, join(DIST, basename(tarball)));
  await copyFile(join(ROOT, '../client/python/partner_data.py'), join(DIST, 'partner_data.py'));
  await rename(join(DIST, 'pagefind/pagefind.js'), join(DIST, 'pagefind/pagefind.js-index.js'));
  await copyFile(join(ROOT, 'src/search.js'), join(DIST, 'pagefind/pagefind.js'));
  await extractInline();
  await compressFiles();
}

/**
 * Packs a package for partners, since no registry has it.
 *
 * @returns the file, and its integrity as in a lock file.
 */
async function pack(name: string): Promise<{ tarball: string; integrity: string }> {
  const folder = join(ROOT, '.astro', name);
  await rm(folder, { recursive: true, force: true });
  await mkdir(folder, { recursive: true });
  // The build of the package prints to npm's output, so that npm's JSON cannot be told from it.
  await promisify(execFile)('npm', ['pack', '--pack-destination', folder], { cwd: join(ROOT, '..', name) });
  const [file] = await readdir(folder);
  if (file === undefined) throw new Error(`npm packed nothing of ${name}`);
  const tarball = join(folder, file);
  return { tarball, integrity: `sha512-${hash('sha512', await readFile(tarball), 'base64')}` };
}

/** Moves inline scripts and styles into files, so that the Content-Security-Policy needs to allow neither. */
async function extractInline(): Promise<void> {
  const styles = new Map<string, string>();
  const pages: { file: string; html: string }[] = [];
  for await (const file of glob('**/*.html', { cwd: DIST })) {
    let html = await readFile(join(DIST, file), 'utf8');
    for (const [element, attributes = '', script = ''] of html.matchAll(
      /<script((?:(?! src=)[^>])*)>([^]+?)<\/script>/g,
    )) {
      const path = await writeAsset(script.trim(), '.js');
      html = html.replace(element, () => `<script${attributes} src="${path}"></script>`);
    }
    html = improveAccess(file, html);
    html = html.replaceAll(/(<[^<>]*) style="([^"]*)"/g, (_tag, before: string, style: string) => {
      const id = hash('sha256', style, 'hex').slice(0, 8);
      styles.set(id, style.replaceAll('&quot;', '"'));
      return `${before} data-style="${id}"`;
    });
    pages.push({ file, html });
  }
  const rules = [...styles].map(([id, style]) => `[data-style="${id}"][data-style]{${style}}`);
  const path = await writeAsset(rules.join('\n'), '.css');
  for (const { file, html } of pages) {
    await writeFile(join(DIST, file), html.replace('</head>', `<link rel="stylesheet" href="${path}"></head>`));
  }
  await adaptExpressiveCode();
}

/** Mends what axe finds in the framework's markup. */
function improveAccess(file: string, html: string): string {
  const better = html
    // The name of the search's button must contain its text; theme.css shows the shortcut.
    .replace(/<kbd[^>]*><kbd[^>]*>Ctrl<\/kbd><kbd[^>]*>K<\/kbd><\/kbd>/, '')
    // Elements that scroll must be focusable. Expressive Code undoes this for code that does not scroll.
    .replaceAll('<pre data-language=', '<pre tabindex="0" data-language=')
    .replaceAll(/<table(?= class="cards"|>)/g, '<table tabindex="0"');
  // Scalar brings its own main element.
  return file.startsWith('reference') ? better.replace('<main', '<div').replace('</main>', '</div>') : better;
}

async function adaptExpressiveCode(): Promise<void> {
  for await (const name of glob('_astro/ec.*', { cwd: DIST })) {
    const file = join(DIST, name);
    const text = await readFile(file, 'utf8');
    const adapted = text
      // It selects the tokens that it colours by their inline style.
      .replaceAll(/span\[style\^=['"]?--['"]?\]:not\(\[class\]\)/g, 'span[data-style]')
      // A code block that scrolls is no landmark.
      .replaceAll(/(['"`])region\1/g, '"group"');
    await writeFile(file, adapted);
  }
}

/** Writes a file named after its content; returns its path on the site. */
async function writeAsset(content: string, extension: string): Promise<string> {
  const name = `_astro/inline.${hash('sha256', content, 'hex').slice(0, 8)}${extension}`;
  await mkdir(join(DIST, '_astro'), { recursive: true });
  await writeFile(join(DIST, name), content);
  return `/docs/${name}`;
}

/** Compresses each text once, so that serving it costs nothing. */
async function compressFiles(): Promise<void> {
  for await (const file of glob('**/*', { cwd: DIST })) {
    if (!COMPRESSIBLE.has(extname(file))) continue;
    const content = await readFile(join(DIST, file));
    // The highest level takes seconds on Scalar's megabytes.
    const quality = content.length > 1_000_000 ? 9 : 11;
    const params = { [constants.BROTLI_PARAM_QUALITY]: quality };
    await writeFile(join(DIST, `${file}.br`), await promisify(brotliCompress)(content, { params }));
    await writeFile(join(DIST, `${file}.gz`), await promisify(gzip)(content));
  }
}
