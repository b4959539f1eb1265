import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { dirname } from 'node:path';
import { fileURLToPath } from 'node:url';
import staticFiles from '@fastify/static';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { DEMO_KEY } from '../access/keys.ts';
import type { PartnerDirectory } from '../access/partner-directory.ts';
import { preferredType } from '../http/request/page-parameters.ts';
import { entityTag, isUnchanged } from '../http/response/send-text.ts';

/** Root path of the portal. All its pages are at or below it. */
export const DOCS_PATH = '/docs';

/** The built site: see `portal/README.md`. */
const SITE = fileURLToPath(new URL('../../portal/dist', import.meta.url));

/** Only the service's own resources, and nothing inline. The search is WebAssembly; style sheets contain icons. */
const POLICY = policyWith("style-src 'self'", "img-src 'self' data:", "font-src 'none'");

/** Scalar, which renders the reference, inserts inline styles and fonts. */
const REFERENCE_POLICY = policyWith("style-src 'self' 'unsafe-inline'", "img-src 'self' data: blob:", 'font-src data:');

const TEXT_TYPE = 'text/plain; charset=utf-8';

/** The address of the service in the guides' Markdown. */
const WRITTEN_ORIGIN = 'http://127.0.0.1:8080';

/** A host with or without a port, and nothing that would be more than an address in a text. */
const HOST = /^[\w.-]+(?::\d+)?$|^\[[\da-f:.]+\](?::\d+)?$/i;

/** Files whose names contain a hash of their content. */
const HASHED = '/_astro/';

const NOT_BUILT = `The documentation site is not built in this installation, and the API works without it. To build it:

    npm ci && npm run portal    (then, if you like: npm prune --omit=dev)

and restart the service. The OpenAPI document is at /openapi.json.
`;

/** `/docs`, for partners' developers, without a key. Texts name the address of each request if `publicUrl` is null. */
export async function registerPortal(
  app: FastifyInstance,
  directory: PartnerDirectory,
  publicUrl: string | null,
): Promise<void> {
  if (!existsSync(`${SITE}/index.html`)) {
    app.log.warn({ path: SITE }, 'the documentation site is not built: run npm run portal');
    for (const path of ['/', DOCS_PATH, `${DOCS_PATH}/*`]) {
      app.get(path, (_request, reply) => reply.code(404).type(TEXT_TYPE).send(NOT_BUILT));
    }
    return;
  }
  await app.register(staticFiles, {
    root: SITE,
    prefix: DOCS_PATH,
    wildcard: false,
    globIgnore: ['**/*.html', '**/*.md', '**/*.txt', '**/*.py', '**/*.br', '**/*.gz'],
    index: false,
    preCompressed: true,
    acceptRanges: false,
    cacheControl: false,
    lastModified: false,
    setHeaders: (reply, path) => {
      reply.header('cache-control', path.includes(HASHED) ? 'public, max-age=31536000, immutable' : 'no-cache');
      // A worker has a policy of its own.
      if (path.includes('-worker.js')) reply.header('content-security-policy', POLICY);
    },
  });
  for (const file of readdirSync(SITE, { recursive: true, encoding: 'utf8' })) {
    if (file.endsWith('index.html')) registerPage(app, file, publicUrl);
    if (/\.(md|txt|py)$/.test(file)) app.get(`${DOCS_PATH}/${file}`, textSender(file, publicUrl));
  }
  // Paths used by people who know only the host name, or who trim a guide's URL.
  for (const path of ['/', `${DOCS_PATH}/guides`, `${DOCS_PATH}/guides/`]) redirect(app, path, DOCS_PATH);
  // The overview's Markdown at its own address, and the texts for language models at those that they try first.
  redirect(app, `${DOCS_PATH}.md`, `${DOCS_PATH}/index.md`);
  for (const name of ['llms.txt', 'llms-full.txt']) redirect(app, `/${name}`, `${DOCS_PATH}/${name}`);
  // Only a demo accepts its published key, so that only a demo shows it.
  app.get(`${DOCS_PATH}/service.json`, async () => ({
    demo_key: (await directory.findByKey(DEMO_KEY)) === null ? null : DEMO_KEY,
  }));
  addNotFoundPage(app, readFileSync(`${SITE}/404.html`, 'utf8'));
}

/** Serves a page, and a guide also as Markdown to those whose `Accept` header prefers that. */
function registerPage(app: FastifyInstance, file: string, publicUrl: string | null): void {
  const below = dirname(file);
  const path = below === '.' ? DOCS_PATH : `${DOCS_PATH}/${below}`;
  const policy = below === 'reference' ? REFERENCE_POLICY : POLICY;
  const markdown = `${below === '.' ? 'index' : below}.md`;
  const sendMarkdown = existsSync(`${SITE}/${markdown}`) ? textSender(markdown, publicUrl) : null;
  app.get(path, (request, reply) => {
    if (sendMarkdown !== null) reply.header('vary', 'Accept, Accept-Encoding');
    const type = preferredType(request.headers.accept ?? '*/*', ['text/html', 'text/markdown']);
    if (type === 'text/markdown' && sendMarkdown !== null) return sendMarkdown(request, reply);
    return reply.header('content-security-policy', policy).sendFile(file);
  });
  redirect(app, `${path}/`, path);
}

/** Sends a text with the address of the service in its examples, as the scripts of pages show it. */
function textSender(file: string, publicUrl: string | null) {
  const written = readFileSync(`${SITE}/${file}`, 'utf8');
  const type = file.endsWith('.md') ? 'text/markdown; charset=utf-8' : TEXT_TYPE;
  return (request: FastifyRequest, reply: FastifyReply): FastifyReply => {
    const text = written.replaceAll(WRITTEN_ORIGIN, publicUrl ?? originOf(request));
    const etag = entityTag(text);
    reply.headers({ etag, 'cache-control': 'no-cache' });
    if (isUnchanged(request.headers['if-none-match'], etag)) return reply.code(304).send();
    return reply.type(type).send(text);
  };
}

function originOf({ protocol, host }: FastifyRequest): string {
  return HOST.test(host) ? `${protocol}://${host}` : WRITTEN_ORIGIN;
}

function redirect(app: FastifyInstance, from: string, to: string): void {
  app.get(from, (_request, reply) => reply.redirect(to, 302));
}

function policyWith(...sources: readonly string[]): string {
  const own = ["default-src 'none'", "script-src 'self' 'wasm-unsafe-eval'", "connect-src 'self'"];
  return [...own, ...sources, "base-uri 'none'", "form-action 'none'", "frame-ancestors 'none'"].join('; ');
}

/** If a path is missing, browsers get a page with navigation, and programs the error as JSON. */
function addNotFoundPage(pages: FastifyInstance, html: string): void {
  pages.addHook('onSend', (request, reply, payload, done) => {
    const isMissing = reply.statusCode === 404;
    if (isMissing) reply.header('vary', 'Accept, Accept-Encoding');
    const isPage = isMissing && request.headers.accept?.includes('text/html') === true;
    if (isPage)
      reply.type('text/html; charset=utf-8').header('content-security-policy', POLICY).removeHeader('content-length');
    done(null, isPage ? html : payload);
  });
}
