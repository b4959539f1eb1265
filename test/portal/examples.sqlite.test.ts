import { describe, expect, test } from 'vitest';
import { DEMO_KEY } from '../../src/access/keys.ts';
import { createEmptyDatabase } from '../support/database.ts';
import { testWith } from '../support/installed-programs.ts';
import { forAllTests } from '../support/lifetimes.ts';
import { startServing } from '../support/serving-process.ts';
import { makeExampleProject } from './example-runner.ts';
import { linesOf, listExamples, maskVolatile } from './examples.ts';
import { GUIDE_FILES, readText } from './site.ts';

/** loading.postgres.test.ts, postgresql-copy.postgres.test.ts and recipes.sqlite.test.ts run the others. */
const EXAMPLES = GUIDE_FILES.filter((file) => !/\/(?:loading|postgresql|recipes)\.md$/.test(file))
  .map((file) => ({ file, examples: listExamples(readText(file)) }))
  .filter(({ examples }) => examples.length > 0);

/** The exit code of curl if the response is an error. */
const CURL_HTTP_ERROR = 22;

const made = forAllTests(createEmptyDatabase);
// The default limit of a partner, which the guides show.
const serving = forAllTests(() => startServing(made.config, { PDS_REQUESTS_PER_MINUTE: '600' }, '--demo'));
const project = forAllTests(makeExampleProject);

describe.each(EXAMPLES)('$file', ({ examples }) => {
  for (const [index, example] of examples.entries()) {
    const name = `example ${index + 1} (${example.language}) does what is said below it, also a second time`;
    (example.language === 'python' ? testWith('python') : testWith('curl'))(name, async () => {
      const environment = { PARTNER_DATA_URL: `http://127.0.0.1:${await serving.port()}`, PARTNER_DATA_KEY: DEMO_KEY };
      const ran = await project.run(example, environment, 2);
      const isError = example.output?.text.includes('"error"') === true;
      expect(ran, ran.stderr).toMatchObject({ code: isError ? CURL_HTTP_ERROR : 0 });
      if (example.output === null) return;
      const { language, text } = example.output;
      if (language === 'json') {
        expect(JSON.parse(maskVolatile(ran.stdout))).toEqual(JSON.parse(maskVolatile(text)));
      } else {
        // Only the relevant headers are shown.
        expect(linesOf(maskVolatile(ran.stdout))).toEqual(expect.arrayContaining(linesOf(maskVolatile(text))));
      }
    });
  }
});

test('every example in TypeScript passes a strict compiler', async () => {
  const inTypeScript = EXAMPLES.flatMap(({ examples }) => examples).filter(({ language }) => language.startsWith('ts'));
  expect(inTypeScript.length).toBeGreaterThan(8);
  expect(await project.checkTypes(inTypeScript)).toMatchObject({ code: 0, stdout: '' });
}, 60_000);

test('what most partners do is shown in every language', () => {
  const languages = ['sh', 'ts', 'ts client', 'python'];
  for (const name of ['first-request', 'paging', 'searching', 'errors', 'caching', 'syncing']) {
    const examples = EXAMPLES.find(({ file }) => file.endsWith(`/${name}.md`))?.examples ?? [];
    expect(new Set(examples.map(({ language }) => language)), name).toEqual(new Set(languages));
  }
});
