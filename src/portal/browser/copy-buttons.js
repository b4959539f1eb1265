// Adds a copy button to each example. Without scripts, the examples are plain text.

import { copyOrSelect } from './copy.js';

const TOLD_FOR_MS = 2000;

for (const pre of document.querySelectorAll('pre.source')) {
  const button = document.createElement('button');
  button.type = 'button';
  button.className = 'copy-button';
  button.textContent = 'Copy';
  button.addEventListener('click', () => void copy(pre, button));
  pre.parentElement?.append(button);
}

/**
 * @param {Element} pre
 * @param {HTMLButtonElement} button shows the result for `TOLD_FOR_MS`
 */
async function copy(pre, button) {
  button.textContent = (await copyOrSelect(pre)) ? 'Copied' : 'Selected';
  setTimeout(() => (button.textContent = 'Copy'), TOLD_FOR_MS);
}
