/**
 * Copies the text of an element. Browsers deny the clipboard to pages without TLS, except on localhost. If the copy
 * fails, the text is selected instead, so that one keystroke copies it.
 *
 * @param {Element} element
 * @returns {Promise<boolean>} whether it was copied
 */
export async function copyOrSelect(element) {
  try {
    await navigator.clipboard.writeText(element.textContent ?? '');
    return true;
  } catch {
    getSelection()?.selectAllChildren(element);
    return false;
  }
}
