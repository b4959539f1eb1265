import { join } from 'node:path';
import { writeMarket } from '../dataset/market.ts';
import { dataSizeOf, sizeName, type DataSize } from '../dataset/sizes.ts';
import { digestOf, readMarker, writeMarker } from './folders.ts';

/** The folder of generated data of a size; generated where it is not there yet. */
export function provideData(folder: string, size: DataSize, name: string): string {
  const target = join(folder, name);
  const marker = `${target}.json`;
  const digest = digestOf('bench/dataset', 'sample') + JSON.stringify(size);
  if (readMarker(marker, digest) === null) {
    writeMarket(target, size);
    writeMarker(marker, digest, {});
  }
  return target;
}

/** The market of so many solicitations, in the import format. */
export function provideMarketData(folder: string, solicitations: number): string {
  return provideData(folder, dataSizeOf(solicitations), sizeName(solicitations));
}
