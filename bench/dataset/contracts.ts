import { FIRST_YEAR, LAST_YEAR, momentOf, pastDaysAfter } from './timestamps.ts';
import type { LeadEntity } from './lead-entities.ts';
import type { Random } from './random.ts';
import type { NamedRecord } from './reference-lists.ts';
import type { DataSize } from './sizes.ts';
import { supplierId } from './suppliers.ts';
import type { TextWriter } from './text.ts';
import { ZipfRanks } from './zipf.ts';

interface ContractParts {
  leadEntities: readonly LeadEntity[];
  coops: readonly NamedRecord[];
  cityServices: readonly NamedRecord[];
}

/**
 * Generates contracts in no particular order. One lead entity holds `largestContractShare` of them; the rest are
 * skewed too. A few suppliers are on very many contracts.
 */
export function* makeContracts(
  size: DataSize,
  { leadEntities, coops, cityServices }: ContractParts,
  random: Random,
  text: TextWriter,
): Generator<object> {
  const byRank = [...leadEntities].sort((a, b) => a.rank - b.rank);
  const [largest] = byRank;
  const leadRanks = new ZipfRanks(byRank.length, 0.9);
  const supplierRanks = new ZipfRanks(size.suppliers, 0.6);
  const coopRanks = new ZipfRanks(coops.length, 0.9);
  const serviceRanks = new ZipfRanks(cityServices.length, 0.8);
  for (let index = 0; index < size.contracts; index++) {
    const leadEntity = random.chance(size.largestContractShare) ? largest : byRank[leadRanks.draw(random)];
    yield {
      id: `ctr_${(Math.imul(index + 1, 0x85ebca6b) >>> 0).toString(36).padStart(7, '0')}`,
      name: text.title(2, 7),
      summary: random.chance(0.7) ? text.sentences(random.integer(4, 24)) : null,
      description: random.chance(0.8) ? text.sentences(contractWords(random)) : null,
      lead_entity_id: leadEntity?.id,
      coop_id: random.chance(0.3) ? coops[coopRanks.draw(random)]?.id : null,
      supplier_ids: random.distinct(suppliersOfContract(random), () => supplierId(supplierRanks.draw(random))),
      city_service_ids: random.distinct(random.integer(0, 4), () => cityServices[serviceRanks.draw(random)]?.id),
      updated_at: pastDaysAfter(momentOf(random.integer(FIRST_YEAR, LAST_YEAR), random.fraction()), 0),
    };
  }
}

function contractWords(random: Random): number {
  return random.chance(0.05) ? random.integer(200, 700) : random.integer(20, 90);
}

function suppliersOfContract(random: Random): number {
  return random.chance(0.08) ? random.integer(5, 15) : random.integer(1, 3);
}
