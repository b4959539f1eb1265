import { button, element } from '../dom.js';
import { AnswerError, explain, NoAnswerError } from '../errors.js';

const SECOND_MS = 1000;

/**
 * Shows what went wrong and what to do; screen readers announce it at once.
 *
 * @param {unknown} error
 * @param {(() => void) | null} onRetry repeats the request; offered only if a retry can succeed
 */
export function problemBox(error, onRetry = null) {
  // Unexpected errors also go to the browser's console.
  if (!(error instanceof AnswerError || error instanceof NoAnswerError)) reportError(error);
  const { title, advice, requestId, mayPass, waitSeconds } = explain(error);
  return element(
    'div',
    { class: 'problem', role: 'alert' },
    element('p', {}, element('strong', {}, title), ' ', advice),
    requestId !== null && element('p', { class: 'muted' }, 'Request ', element('code', {}, requestId)),
    onRetry !== null && mayPass && element('p', { class: 'actions' }, retryButton(onRetry, waitSeconds)),
  );
}

/** Disabled, with a countdown, while a retry would get the same response. @param {() => void} onRetry @param {number} waitSeconds */
function retryButton(onRetry, waitSeconds) {
  const made = button('Try again', onRetry);
  const until = Date.now() + waitSeconds * SECOND_MS;
  const tick = () => {
    const left = Math.ceil((until - Date.now()) / SECOND_MS);
    made.disabled = left > 0;
    made.textContent = left > 0 ? `Try again in ${left} s` : 'Try again';
    if (left > 0) setTimeout(tick, SECOND_MS);
  };
  tick();
  return made;
}
