// What Scalar leaves unsaid to those who hear its page instead of seeing it, said as soon as it stands there.

const app = document.getElementById('app');

function mend() {
  // The buttons that copy an example have a picture and no name.
  for (const button of document.querySelectorAll('.scalar-code-copy:not([aria-label])'))
    button.setAttribute('aria-label', 'Copy');
  // On a phone, the bar that tells where one is stands in no part of the page that could be gone to.
  for (const bar of document.querySelectorAll('[data-scalar-scroll-header]:not([role])')) {
    bar.setAttribute('role', 'navigation');
    bar.setAttribute('aria-label', 'Reference');
  }
}

if (app !== null) new MutationObserver(mend).observe(app, { childList: true, subtree: true });
