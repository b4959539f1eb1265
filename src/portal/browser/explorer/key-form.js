// Where the key comes in. It is read once, handed on, and taken out of the page.

import { element } from './dom.js';
import { problemBox } from './problem-box.js';
import { Session } from './session.js';

/**
 * @param {unknown} error what became of the key before; null where there was none
 * @param {(key: string) => void} onKey
 */
export function keyForm(error, onKey) {
  // No field for a password: browsers offer to keep those, and a key is to be kept nowhere. Styles hide what is typed.
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
