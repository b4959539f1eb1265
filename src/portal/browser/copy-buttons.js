// A button on each example, to copy it as it stands. Without scripts, the examples are just texts.

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
 * @param {HTMLButtonElement} button says what came of it, for a moment
 */
async function copy(pre, button) {
  button.textContent = (await copyOrSelect(pre)) ? 'Copied' : 'Selected';
  setTimeout(() => (button.textContent = 'Copy'), TOLD_FOR_MS);
}
