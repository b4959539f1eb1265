import { expect, test } from 'vitest';
import { causeOf } from '../../src/commands/output/failure.ts';
import { OperatorError } from '../../src/operator-error.ts';

test('an error while the database is closed does not hide the error that ended the command', async () => {
  const cause = new OperatorError('there is no partner "acme"');
  const work = async (): Promise<never> => {
    await using opened = new AsyncDisposableStack();
    opened.defer(() => Promise.reject(new Error('the connection is lost')));
    throw cause;
  };
  expect(causeOf(await work().catch((reason: unknown) => reason))).toBe(cause);
});
