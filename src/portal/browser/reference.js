// Adds the accessible names and roles that Scalar leaves out, as soon as it renders the elements.

const app = document.getElementById('app');

function mend() {
  // The copy buttons have an icon but no name.
  for (const button of document.querySelectorAll('.scalar-code-copy:not([aria-label])'))
    button.setAttribute('aria-label', 'Copy');
  // On a phone, the bar that shows the current section is outside every landmark.
  for (const bar of document.querySelectorAll('[data-scalar-scroll-header]:not([role])')) {
    bar.setAttribute('role', 'navigation');
    bar.setAttribute('aria-label', 'Reference');
  }
}

if (app !== null) new MutationObserver(mend).observe(app, { childList: true, subtree: true });
