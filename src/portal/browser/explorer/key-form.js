// The form for the API key. On submit it passes the key on and clears the field.

import { element } from './dom.js';
import { problemBox } from './problem-box.js';
import { Session } from './session.js';

/**
 * @param {unknown} error why the previous key was dropped; null if there is nothing to show
 * @param {(key: string) => void} onKey
 */
export function keyForm(error, onKey) {
  // Not a password field: browsers offer to save those, and the key must not be stored. CSS masks the input instead.
  const input = element('input', {
    id: 'api-key',
    type: 'text',
    class: 'secret',
    autocomplete: 'off',
    autocapitalize: 'off',
    spellcheck: 'false',
    required: true,
    'aria-describedby': 'api-key-hint api-key-problem',
  });
  const problem = error === null ? null : problemBox(error);
  const wrong = element('p', { id: 'api-key-problem', class: 'wrong', role: 'alert' });
  const form = element(
    'form',
    { class: 'key-form', autocomplete: 'off' },
    element('label', { for: 'api-key' }, 'API key'),
    element('div', { class: 'key-row' }, input, element('button', { type: 'submit', class: 'primary' }, 'Explore')),
    wrong,
    element(
      'p',
      { id: 'api-key-hint', class: 'muted' },
      'It stays in the memory of this tab, goes to this service alone, and is forgotten when you reload or leave. ' +
        'What you open here counts as requests of your key.',
    ),
  );
  form.addEventListener('submit', (event) => {
    event.preventDefault();
    const key = input.value.trim();
    if (!Session.isSendable(key)) {
      wrong.textContent =
        'This is no key: keys have plain letters, digits and underscores, without spaces or quotation marks.';
      problem?.remove();
      input.setAttribute('aria-invalid', 'true');
      input.focus();
      return;
    }
    input.value = '';
    onKey(key);
  });
  return element('div', {}, problem, form);
}
