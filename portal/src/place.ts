// Fits the examples to the service that serves the page: its origin and, on a demo, the published key.

import { readDemoKey } from './demo-key.ts';

/** The guides' values outside the site. */
const ORIGIN = 'http://127.0.0.1:8080';
const KEY = '<your key>';

const blocks = [...document.querySelectorAll('.expressive-code')].filter((block) => {
  const text = block.textContent;
  return text.includes(ORIGIN) || text.includes(KEY);
});

function replace(documented: string, actual: string): void {
  for (const block of blocks) {
    const texts = document.createTreeWalker(block, NodeFilter.SHOW_TEXT);
    while (texts.nextNode()) {
      const text = texts.currentNode as Text;
      if (text.data.includes(documented)) text.data = text.data.replaceAll(documented, actual);
    }
    // The copy button holds the code.
    for (const button of block.querySelectorAll<HTMLElement>('[data-code]')) {
      button.dataset.code = button.dataset.code?.replaceAll(documented, actual) ?? '';
    }
  }
}

replace(ORIGIN, location.origin);
if (blocks.length > 0) {
  const key = await readDemoKey();
  if (key !== null) replace(KEY, key);
}
