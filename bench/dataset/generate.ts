import { Command, InvalidArgumentError } from 'commander';
import { writeMarket } from './market.ts';
import { dataSizeOf, type DataSize } from './sizes.ts';

/* Program: writes a market of the requested size in the import format. */

const options = new Command('generate')
  .description('Writes invented records in the import format; the same options give the same bytes.')
  .requiredOption('--out <folder>', 'where the files go')
  .option('--solicitations <n>', 'how many; the other kinds follow', wholeNumber, 10_000)
  .option('--contracts <n>', 'in place of a tenth of the solicitations', wholeNumber)
  .option('--suppliers <n>', 'in place of a twentieth of the solicitations', wholeNumber)
  .option('--lead-entities <n>', 'in place of what follows from the solicitations', wholeNumber)
  .option('--largest-contract-share <x>', 'share of the contracts that one lead entity holds', Number)
  .parse()
  .opts<Partial<DataSize> & { out: string; solicitations: number }>();

const { out, ...size } = options;
const startedAt = performance.now();
const lines = writeMarket(out, { ...dataSizeOf(size.solicitations), ...size });
const seconds = ((performance.now() - startedAt) / 1000).toFixed(1);
process.stderr.write(`${out}: ${JSON.stringify(lines)} in ${seconds} s\n`);

function wholeNumber(value: string): number {
  if (!/^\d+$/.test(value)) throw new InvalidArgumentError('give a whole number');
  return Number(value);
}
