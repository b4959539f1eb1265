import { createReadStream, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { once } from 'node:events';
import { setTimeout as delay } from 'node:timers/promises';
import { SERVICE_NAMES, startService, type RunningService } from '../candidates/service.ts';
import { dataSizeOf } from '../dataset/sizes.ts';
import { FEW, writeFewChanges } from '../market/few-changes.ts';
import { provideData, provideMarketData } from '../market/generated-data.ts';
import { databaseUrl, emptyDatabase, type Engine } from '../market/market.ts';
import { createPartner } from '../market/partners.ts';
import { runPds, type CommandOutcome } from '../market/pds.ts';
import type { BaseContext, Part } from '../measure/context.ts';
import { note } from '../measure/progress.ts';

const DATABASE = 'pds_import';

export const importing: Part = {
  name: 'import',
  title: 'Import: first, unchanged, few new or changed records, a lead entity renamed, a key revoked meanwhile',
  needsMarket: false,
  async run(context) {
    const { folder, scratch, settings, size } = context;
    const data = provideMarketData(join(folder, 'data'), size);
    const few = await writeFewChanges(data, size, join(scratch, 'few'));
    for (const engine of settings.engines) {
      const url = databaseUrl(context.folder, context.postgres, engine, DATABASE);
      await emptyDatabase(context.folder, context.postgres, engine, DATABASE);
      await runPds(url, ['migrate']);
      const key = await createPartner(url, 'revoked', ['--everything']);
      const service = await startService(engine, databaseOf(url, key), { folder: context.scratch });
      try {
        const { first, revokedAfterMs } = await importWhileRevoking(url, data, service, key);
        report(context, engine, 'first import', first);
        if (revokedAfterMs !== null) addRevocation(context, engine, revokedAfterMs);
      } finally {
        await service.stop();
      }
      report(context, engine, 'the same again', await runPds(url, ['import', data]));
      const added = await runPds(url, ['import', few.added]);
      report(context, engine, `${FEW.toLocaleString('en-US')} new records spread over all`, added);
      const moved = await runPds(url, ['import', few.moved]);
      report(context, engine, `${FEW.toLocaleString('en-US')} changed deadlines`, moved);
      await measureRename(context, engine, url);
      await emptyDatabase(context.folder, context.postgres, engine, DATABASE);
    }
  },
};

/** Imports into an empty database, revokes a partner's key meanwhile, and polls until the service refuses the key. */
async function importWhileRevoking(url: string, data: string, service: RunningService, key: string) {
  const importing = runPds(url, ['import', data]);
  const hasEnded = importing.then(() => true);
  await Promise.race([hasEnded, delay(500)]);
  const keyId = key.split('_')[2] ?? '';
  await runPds(url, ['key', 'revoke', keyId]);
  const revokedAt = performance.now();
  const isMeanwhile = !(await Promise.race([hasEnded, delay(1, false)]));
  let status: number;
  do {
    status = await statusOf(service);
    if (performance.now() - revokedAt > 30_000) throw new Error('a revoked key was still good after half a minute');
  } while (status !== 401);
  const elapsed = performance.now() - revokedAt;
  return { first: await importing, revokedAfterMs: isMeanwhile ? elapsed : null };
}

async function statusOf(service: RunningService): Promise<number> {
  const answer = await fetch(`http://127.0.0.1:${service.port}/v1/coops`, { headers: service.headers(0) });
  await answer.arrayBuffer();
  return answer.status;
}

/** Measures renaming a lead entity that has 100,000 contracts (at the largest size). */
async function measureRename(context: BaseContext, engine: Engine, url: string): Promise<void> {
  const { folder, postgres, scratch } = context;
  const contracts = Math.ceil(context.size / 10);
  const size = { ...dataSizeOf(1_000), contracts, suppliers: contracts / 2, largestContractShare: 1 };
  const data = provideData(join(folder, 'data'), size, `rename-${contracts}`);
  await emptyDatabase(folder, postgres, engine, DATABASE);
  await runPds(url, ['import', data]);
  const renamed = join(scratch, 'renamed');
  mkdirSync(renamed, { recursive: true });
  const id = await leadEntityOfContracts(data);
  writeFileSync(join(renamed, 'lead-entities.ndjson'), `${JSON.stringify({ id, name: 'Renamed for the bench' })}\n`);
  report(
    context,
    engine,
    'renaming the lead entity of a tenth as many contracts',
    await runPds(url, ['import', renamed]),
  );
}

async function leadEntityOfContracts(data: string): Promise<string> {
  const input = createReadStream(join(data, 'contracts.ndjson'));
  const lines = createInterface({ input });
  const [line] = (await once(lines, 'line')) as [string];
  lines.close();
  input.destroy();
  return (JSON.parse(line) as { lead_entity_id: string }).lead_entity_id;
}

function report({ store, size }: BaseContext, engine: Engine, work: string, outcome: CommandOutcome): void {
  const base = { part: 'import', work, size, candidate: SERVICE_NAMES[engine] };
  store.add({ ...base, unit: 's', values: [outcome.seconds] });
  store.add({ ...base, unit: 'MB', values: [outcome.peakMegabytes] });
  note(`${work}, ${engine}: ${outcome.seconds.toFixed(1)} s, at most ${Math.round(outcome.peakMegabytes)} MB`);
}

function addRevocation({ store, size }: BaseContext, engine: Engine, milliseconds: number): void {
  const work = 'until a key revoked during the import is refused';
  const base = { part: 'import', work, size, candidate: SERVICE_NAMES[engine] };
  store.add({ ...base, unit: 'ms', values: [milliseconds] });
  note(`${work}, ${engine}: ${Math.round(milliseconds)} ms`);
}

function databaseOf(url: string, key: string) {
  return { url, keys: { everything: [key], narrow: key, middle: key }, changedSince: '' };
}
