// A button on each example, to copy it as it stands. Without scripts, the examples are just texts.

const TOLD_FOR_MS = 2000;

for (const pre of document.querySelectorAll('pre.source')) {
  const button = document.createElement('button');
  button.type = 'button';
  button.className = 'copy-button';
  button.textContent = 'Copy';
  button.addEventListener('click', () => void copy(pre.textContent, button));
  pre.parentElement?.append(button);
}

/**
 * @param {string} text
 * @param {HTMLButtonElement} button says what came of it, for a moment
 */
async function copy(text, button) {
  try {
    await navigator.clipboard.writeText(text);
    button.textContent = 'Copied';
  } catch {
    button.textContent = 'Not copied';
  }
  setTimeout(() => (button.textContent = 'Copy'), TOLD_FOR_MS);
}
