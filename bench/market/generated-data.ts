import { join } from 'node:path';
import { writeMarket } from '../dataset/market.ts';
import { dataSizeOf, sizeName, type DataSize } from '../dataset/sizes.ts';
import { digestOf, readMarker, writeMarker } from './folders.ts';

/** Returns the folder with the data of a size, generating the data if it is missing or its sources have changed. */
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

/** Returns the folder with the market of a default size, in the import format. */
export function provideMarketData(folder: string, solicitations: number): string {
  return provideData(folder, dataSizeOf(solicitations), sizeName(solicitations));
}
