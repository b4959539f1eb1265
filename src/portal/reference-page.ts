import { hash } from 'node:crypto';
import { fastify, type FastifyInstance } from 'fastify';
import { OPENAPI_30_PATH, OPENAPI_PATH } from '../http/openapi.ts';
import { registerStaticText } from '../http/static-text.ts';
import { renderHead, renderHeader } from './layout.ts';
import { ASSETS_PATH, DOCS_PATH, REFERENCE_PATH } from './paths.ts';

const SCRIPT_PATH = `${REFERENCE_PATH}/scalar.js`;

/** The page sends no request to any other host: no fonts, telemetry, proxy or assistant. */
const CONFIGURATION = {
  url: OPENAPI_PATH,
  withDefaultFonts: false,
  telemetry: false,
  agent: { disabled: true },
  mcp: { disabled: true },
  showDeveloperTools: 'never',
  hideClientButton: true,
  hideDarkModeToggle: true,
  documentDownloadType: 'json',
  persistAuth: false,
};

// Requests go to the server that served the page, whatever its environment.
const START_SCRIPT = `Scalar.createApiReference('#app', {
  ...${JSON.stringify(CONFIGURATION)},
  servers: [{ url: location.origin, description: 'This server' }],
});`;

const PAGE = `<!doctype html>
<html lang="en">
<head>
${renderHead('Reference', ['shell.css', 'reference.css'])}
</head>
<body class="reference">
<a class="skip-link" href="#app">Skip to content</a>
${renderHeader(REFERENCE_PATH)}
<section id="app" tabindex="-1"></section>
<noscript><p>The reference needs JavaScript. <a href="${OPENAPI_PATH}">The OpenAPI document</a>
(<a href="${OPENAPI_30_PATH}">as OpenAPI 3.0</a>) says the same, and the
<a href="${DOCS_PATH}">guides</a> do without it.</p></noscript>
<script src="${ASSETS_PATH}/reference.js"></script>
<script src="${SCRIPT_PATH}"></script>
<script>${START_SCRIPT}</script>
</body>
</html>
`;

const CONTENT_SECURITY_POLICY = [
  "default-src 'none'",
  `script-src 'self' 'sha256-${hash('sha256', START_SCRIPT, 'base64')}'`,
  "style-src 'self' 'unsafe-inline'",
  "img-src 'self' data: blob:",
  'font-src data:',
  "connect-src 'self'",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
].join('; ');

/**
 * `GET /docs/reference`: Scalar renders `/openapi.json` in the browser. Works without internet access. Scalar inserts
 * inline styles, so unlike the other pages this one's policy must allow them.
 */
export function registerReferencePage(app: FastifyInstance): void {
  for (const address of [REFERENCE_PATH, `${REFERENCE_PATH}/`])
    registerStaticText(app, address, 'text/html; charset=utf-8', async () => PAGE, {
      'Content-Security-Policy': CONTENT_SECURITY_POLICY,
    });
  registerStaticText(app, SCRIPT_PATH, 'text/javascript; charset=utf-8', loadScript);
}

/**
 * Loads Scalar's browser script. The package contains it only as text inside a plugin that serves it, so it is
 * requested from the plugin once, in-process. The plugin's own page is not used, because it redirects and fails for
 * unusual Host headers. Loading the package takes 0.2 s, which startup should not wait for.
 */
async function loadScript(): Promise<string> {
  const { default: scalar } = await import('@scalar/fastify-api-reference');
  const host = fastify();
  await host.register(scalar, { routePrefix: '/docs', configuration: { url: OPENAPI_PATH } });
  const answer = await host.inject('/docs/js/scalar.js');
  await host.close();
  if (answer.statusCode !== 200) throw new Error(`Scalar's script is not where it was: ${answer.statusCode}`);
  return answer.payload;
}
