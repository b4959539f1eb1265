// The form for the API key. On submit it passes the key on and clears the field.

import { button, element } from '../dom.js';
import { problemBox } from './problem-box.js';
import { Session } from '../session.js';

/**
 * @param {unknown} error why the previous key was dropped; null if there is nothing to show
 * @param {Promise<string | null>} demoKey null if the service is no demo
 * @param {(key: string, isKept: boolean) => void} onKey `isKept` if the key is to survive a reload of the tab
 */
export function keyForm(error, demoKey, onKey) {
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
  const kept = element('input', { id: 'keep-key', type: 'checkbox' });
  const problem = error === null ? null : problemBox(error);
  const wrong = element('p', { id: 'api-key-problem', class: 'wrong', role: 'alert' });
  const submit = element('button', { type: 'submit', class: 'primary' }, 'Explore');
  const row = element('div', { class: 'key-row' }, input, submit);
  const form = element(
    'form',
    { class: 'key-form', autocomplete: 'off' },
    element('label', { for: 'api-key' }, 'API key'),
    row,
    wrong,
    element(
      'p',
      { class: 'choice' },
      kept,
      element('label', { for: 'keep-key' }, 'Keep it in this tab when I reload the page'),
    ),
    element(
      'p',
      { id: 'api-key-hint', class: 'muted' },
      'The key is sent to this service only, and forgotten when you reload or leave the page. If you keep it, the ' +
        "tab's session storage has it until you close the tab or forget the key. Everything you open here counts against " +
        "your key's request limit.",
    ),
  );
  form.addEventListener('submit', (event) => {
    event.preventDefault();
    // The whole header, as the examples show it, is pasted often.
    const key = input.value.trim().replace(/^(authorization:\s*)?bearer\s+/i, '');
    if (!Session.isSendable(key)) {
      wrong.textContent =
        'This is not a key: keys consist of letters, digits and underscores, without spaces or quotation marks.';
      problem?.remove();
      input.setAttribute('aria-invalid', 'true');
      input.focus();
      return;
    }
    input.value = '';
    onKey(key, kept.checked);
  });
  void demoKey.then((key) => {
    if (key !== null) row.append(button('Use the demo key', () => onKey(key, kept.checked)));
  });
  return element('div', {}, problem, form);
}
