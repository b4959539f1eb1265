import { button, element } from './dom.js';
import { AnswerError, explain, NoAnswerError } from './errors.js';

const SECOND_MS = 1000;

/**
 * What went wrong and what to do, read out at once by screen readers.
 *
 * @param {unknown} error
 * @param {(() => void) | null} onRetry asks the same again, which is offered where it may be of use
 */
export function problemBox(error, onRetry = null) {
  // For the console: whoever looks for what failed in the browser itself finds it there.
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

/** Counts the seconds down before which the answer would be the same. @param {() => void} onRetry @param {number} waitSeconds */
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
