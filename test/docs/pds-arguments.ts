import type { Command } from 'commander';
import { program } from '../../src/commands/program.ts';

/** `pds` at the beginning of a line or after npx or sudo, and its arguments. */
const PDS_COMMAND = /(?:^|\b(?:npx|sudo) )(?:pds|node_modules\/\.bin\/node src\/main\.js)(?<rest>(?: .*)?)$/gm;

/** The commands of `pds` in a text, each as the words after `pds`. */
export function findPdsCommands(text: string): string[][] {
  const commands = text.replaceAll(/ *(?:[|;<>)#]|&&)/g, '\n').replaceAll('$(', '\n');
  return [...commands.matchAll(PDS_COMMAND)].map(({ groups }) =>
    (groups?.['rest'] ?? '').split(/[\s[\]…]+/).filter((word) => word !== ''),
  );
}

/** Why `pds` would refuse these words, which can contain placeholders such as `NAME`; null if it would not. */
export function findProblem(words: readonly string[]): string | null {
  let command: Command = program;
  let positionals = 0;
  for (let index = 0; index < words.length; index += 1) {
    const word = words[index] ?? '';
    if (word.startsWith('--')) {
      const option = command.options.find(({ long }) => long === word.split('=')[0]);
      if (option === undefined && word !== '--help') return `"pds ${words.join(' ')}": there is no option ${word}`;
      if (option?.required === true && !word.includes('=')) index += 1;
      while (option?.variadic === true && words[index + 1]?.startsWith('--') === false) index += 1;
    } else if (command.commands.length > 0) {
      const next = command.commands.find((one) => one.name() === word);
      if (next === undefined && word !== 'help') return `"pds ${words.join(' ')}": there is no command ${word}`;
      command = next ?? command;
    } else {
      positionals += 1;
    }
  }
  const max = command.registeredArguments.length;
  return positionals > max ? `"pds ${words.join(' ')}" has more than ${max} arguments` : null;
}

/** All options of all commands, such as `--json`. */
export function listOptions(command: Command = program): string[] {
  return [...command.options.map(({ long }) => long ?? ''), ...command.commands.flatMap(listOptions)];
}
