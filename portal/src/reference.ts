// Renders /openapi.json with Scalar, whose script the page has loaded.

import { readDemoKey } from './demo-key.ts';

interface Reference {
  updateConfiguration(configuration: object): void;
}
declare const Scalar: { createApiReference(selector: string, configuration: object): Reference };

/** The page sends no request to any other host: no fonts, telemetry, proxy or assistant. */
const CONFIGURATION = {
  withDefaultFonts: false,
  telemetry: false,
  agent: { disabled: true },
  mcp: { disabled: true },
  showDeveloperTools: 'never',
  hideClientButton: true,
  hideDarkModeToggle: true,
  documentDownloadType: 'none',
  // The site's search has the reference, too.
  hideSearch: true,
  persistAuth: false,
  // The order of responses and of CSV columns.
  orderSchemaPropertiesBy: 'preserve',
  orderRequiredPropertiesFirst: false,
  // Requests go to the server that served the page, whatever its environment.
  servers: [{ url: location.origin, description: 'This server' }],
};

const root = document.documentElement;
const app = document.getElementById('reference');

/** The parts of an OpenAPI document that are changed here. */
interface Document {
  readonly info: { version: string };
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>;
  readonly components: { readonly schemas: Readonly<Record<string, Schema>> };
}
interface Operation {
  readonly parameters?: readonly { schema?: Schema; examples?: object }[];
}
interface Schema {
  readonly $ref?: string;
  format?: string;
  readonly default?: unknown;
  readonly enum?: readonly unknown[];
}

/**
 * The OpenAPI document. Its version is labelled, since that of the service is another. Without the examples that are added,
 * "Test Request" would send every parameter with a default or an enum.
 */
async function readDocument(): Promise<Document> {
  const response = await fetch('/openapi.json');
  const document = (await response.json()) as Document;
  document.info.version = `Interface ${document.info.version}`;
  const operations = Object.values(document.paths).flatMap((methods) => Object.values(methods));
  for (const parameter of operations.flatMap(({ parameters = [] }) => parameters)) {
    const name = parameter.schema?.$ref?.split('/').at(-1);
    const schema = name === undefined ? parameter.schema : document.components.schemas[name];
    const value = schema?.default ?? schema?.enum?.[0];
    if (value !== undefined) parameter.examples = { default: { value, 'x-disabled': true } };
    // Scalar warns that an empty date is not valid, though it does not send it.
    if (schema?.format === 'date-time') schema.format = 'timestamp';
  }
  return document;
}

function configure(document: Document, demoKey: string | null): object {
  const authentication = demoKey === null ? {} : { securitySchemes: { apiKey: { token: demoKey } } };
  return {
    ...CONFIGURATION,
    content: document,
    authentication,
    forceDarkModeState: root.dataset.theme === 'light' ? 'light' : 'dark',
  };
}

/** Adds the accessible names and roles that Scalar leaves out, as soon as it renders the elements. */
function addNames(): void {
  // The copy buttons have an icon but no name.
  for (const button of document.querySelectorAll('.scalar-code-copy:not([aria-label])'))
    button.setAttribute('aria-label', 'Copy');
  // On a phone, the bar that shows the current section is outside every landmark.
  for (const bar of document.querySelectorAll('[data-scalar-scroll-header]:not([role])')) {
    bar.setAttribute('role', 'navigation');
    bar.setAttribute('aria-label', 'Reference');
  }
}

if (app !== null) {
  new MutationObserver(addNames).observe(app, { childList: true, subtree: true });
  const [document, demoKey] = await Promise.all([readDocument(), readDemoKey()]);
  // Scalar would hydrate the page's text.
  app.replaceChildren();
  const reference = Scalar.createApiReference('#reference', configure(document, demoKey));
  new MutationObserver(() => reference.updateConfiguration(configure(document, demoKey))).observe(root, {
    attributeFilter: ['data-theme'],
  });
}
