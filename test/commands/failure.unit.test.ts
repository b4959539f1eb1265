import { expect, test } from 'vitest';
import { CommandError, describeFailure } from '../../src/commands/process/failure.ts';

test('an error while the database is closed does not hide the error that ended the command', async () => {
  const work = async (): Promise<never> => {
    await using opened = new AsyncDisposableStack();
    opened.defer(() => Promise.reject(new Error('the connection is lost')));
    throw new CommandError('there is no partner "acme"');
  };
  const error = await work().catch((reason: unknown) => reason);
  expect(describeFailure(error, null)).toBe('there is no partner "acme"');
});
