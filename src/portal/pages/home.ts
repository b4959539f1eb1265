import type { Page } from '../layout.ts';

/** `/docs`. */
export async function makeHome(): Promise<Page> {
  return {
    title: 'Documentation',
    main: `<article class="prose">
<h1>Partner data service</h1>
<p>Contracts, solicitations, suppliers and reference lists, as JSON over HTTP.</p>
</article>`,
  };
}
