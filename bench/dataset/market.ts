import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { makeContracts } from './contracts.ts';
import { makeLeadEntities } from './lead-entities.ts';
import { writeNdjson } from './ndjson-writer.ts';
import { Random } from './random.ts';
import { makeCertifications, makeNamedRecords } from './reference-lists.ts';
import type { DataSize } from './sizes.ts';
import { makeSolicitations } from './solicitations.ts';
import { makeSuppliers } from './suppliers.ts';
import { TextWriter } from './text.ts';
import { WordSource } from './vocabulary.ts';

/** Writes all files of a market in the import format. The same size always produces the same bytes. */
export function writeMarket(folder: string, size: DataSize): void {
  mkdirSync(folder, { recursive: true });
  const words = new WordSource();
  const seeded = (seed: number): [Random, TextWriter] => {
    const random = new Random(seed);
    return [random, new TextWriter(random, words)];
  };
  const leadEntities = makeLeadEntities(new Random(1), size.leadEntities, size.solicitations);
  const coops = makeNamedRecords('co', size.coops, seeded(2)[1]);
  const cityServices = makeNamedRecords('cs', size.cityServices, seeded(3)[1]);
  const certifications = makeCertifications(seeded(4)[1]);
  const files: Record<string, Iterable<object>> = {
    'lead-entities': leadEntities.map(({ id, name }) => ({ id, name })),
    coops,
    'city-services': cityServices,
    certifications,
    suppliers: makeSuppliers(size.suppliers, { certifications, cityServices }, ...seeded(5)),
    contracts: makeContracts(size, { leadEntities, coops, cityServices }, ...seeded(6)),
    solicitations: makeSolicitations(leadEntities, ...seeded(7)),
  };
  for (const [name, records] of Object.entries(files)) writeNdjson(join(folder, `${name}.ndjson`), records);
}
