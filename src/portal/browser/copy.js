/**
 * Copies the text of an element. Browsers give no clipboard to pages without TLS that are not on their own machine: there
 * the text is selected, which is one key from being copied.
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
