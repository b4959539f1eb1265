import { readdirSync } from 'node:fs';
import type { Page } from '../layout.ts';

const MODULES = readdirSync(new URL('../browser/explorer', import.meta.url)).filter((name) => name.endsWith('.js'));

/** `/docs/explorer`: shows what a key can see. Rendered entirely in the browser, from responses of `/v1`. */
export async function makeExplorer(): Promise<Page> {
  return {
    title: 'Explorer',
    styles: ['explorer/explorer.css', 'explorer/views.css'],
    // All modules are listed so that the browser fetches them in parallel, not after their importers.
    scripts: ['copy.js', ...MODULES.map((name) => `explorer/${name}`)],
    main: `<h1>Explorer</h1>
<p>What your key may see: counts, deadlines, lists and records, with the request behind each as <code>curl</code>.</p>
<div id="explorer" class="explorer"></div>
<noscript><p>The explorer needs JavaScript. The <a href="/docs">guides</a> do without it.</p></noscript>`,
  };
}
