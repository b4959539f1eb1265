import { join } from 'node:path';
import prettier from 'eslint-config-prettier';
import tseslint from 'typescript-eslint';

const NO_ENGINE = {
  selector:
    ':matches(BinaryExpression[operator=/^[!=]==?$/], SwitchStatement) > :matches(Identifier[name="engine"], MemberExpression[property.name="engine"])',
  message: 'Put what differs between the engines into src/database/, behind one name.',
};

const NO_BUILDER = {
  selector:
    'CallExpression > MemberExpression[property.name=/^(selectFrom|insertInto|replaceInto|updateTable|deleteFrom|mergeInto)$/]',
  message: 'Write the statement as an sql template, as all that serves and imports.',
};

export default tseslint.config(
  { ignores: ['**/node_modules/', 'data/', 'coverage/', '**/dist/', 'portal/.astro/', 'client/src/generated/'] },
  ...tseslint.configs.strictTypeChecked,
  ...tseslint.configs.stylisticTypeChecked,
  {
    languageOptions: { parserOptions: { projectService: true, tsconfigRootDir: join(import.meta.dirname, '..') } },
    rules: {
      'no-nested-ternary': 'error',
      '@typescript-eslint/restrict-template-expressions': ['error', { allowNumber: true, allowBoolean: true }],
      '@typescript-eslint/require-await': 'off',
      '@typescript-eslint/no-confusing-void-expression': ['error', { ignoreArrowShorthand: true }],
      '@typescript-eslint/no-unused-vars': ['error', { ignoreRestSiblings: true, ignoreUsingDeclarations: true }],
      'no-console': 'error',
      'max-lines': ['error', { max: 400, skipBlankLines: false, skipComments: false }],
    },
  },
  // The engines differ only in `database/`, and the builder of statements is for commands on few rows.
  {
    files: ['src/**/*.ts'],
    ignores: ['src/database/**', 'src/access/**', 'src/commands/**'],
    rules: { 'no-restricted-syntax': ['error', NO_ENGINE, NO_BUILDER] },
  },
  { files: ['src/access/**', 'src/commands/**'], rules: { 'no-restricted-syntax': ['error', NO_ENGINE] } },
  { files: ['src/database/**'], rules: { 'no-restricted-syntax': ['error', NO_BUILDER] } },
  // The default of the option `onKeyExpiring`.
  { files: ['client/src/key-expiry.ts'], rules: { 'no-console': ['error', { allow: ['warn'] }] } },
  { files: ['client/examples/**', 'client/test/platforms/run.js'], rules: { 'no-console': 'off' } },
  { files: ['**/*.js'], extends: [tseslint.configs.disableTypeChecked] },
  prettier,
);
