import { existsSync } from 'node:fs';

// PDS_ variables of the developer's shell must not reach the tests or the commands they start.
for (const name of Object.keys(process.env)) {
  if (name.startsWith('PDS_')) Reflect.deleteProperty(process.env, name);
}

// The commands they start would refuse it: most run in the project's folder.
if (existsSync('.env'))
  throw new Error('move the file .env out of this folder while the tests run: commands refuse it');
