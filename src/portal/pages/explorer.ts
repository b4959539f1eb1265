import { readdirSync } from 'node:fs';
import type { Page } from '../layout.ts';

const MODULES = readdirSync(new URL('../browser/explorer', import.meta.url)).filter((name) => name.endsWith('.js'));

/** `/docs/explorer`: what a key sees. All of it is made in the browser, of what `/v1` answers. */
export async function makeExplorer(): Promise<Page> {
  return {
    title: 'Explorer',
    styles: ['explorer/explorer.css', 'explorer/views.css'],
    // All of them, so that none is first asked for when another that needs it was read.
    scripts: ['copy.js', ...MODULES.map((name) => `explorer/${name}`)],
    main: `<h1>Explorer</h1>
<p>What your key may see: counts, deadlines, lists and records, with the request behind each as <code>curl</code>.</p>
<div id="explorer" class="explorer"></div>
<noscript><p>The explorer needs JavaScript. The <a href="/docs">guides</a> do without it.</p></noscript>`,
  };
}
