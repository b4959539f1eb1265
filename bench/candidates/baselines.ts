import { note } from '../measure/progress.ts';
import type { ResultsStore } from '../measure/results.ts';
import type { RunningCandidate } from './candidate.ts';
import { startDrizzle } from './drizzle.ts';
import { startMinimum } from './minimum.ts';
import { peersOver } from './peers.ts';

export interface BaselineOptions {
  plainUrl: string;
  withPeers: boolean;
  store: ResultsStore;
  /** Folder for files written by the servers. */
  scratch: string;
}

/** Starts the baselines and peers over the same rows. A peer that fails to start is reported with the reason. */
export async function startBaselines(options: BaselineOptions): Promise<RunningCandidate[]> {
  const running = [await startMinimum(options.plainUrl), await startDrizzle(options.plainUrl)];
  if (!options.withPeers) return running;
  for (const peer of peersOver(options.plainUrl, options.scratch)) {
    try {
      running.push(await peer.start());
    } catch (error) {
      const reason = error instanceof Error ? error.message : String(error);
      note(`${peer.name} did not start: ${reason}`);
      options.store.addGap({ part: 'all', candidate: peer.name, reason });
    }
  }
  return running;
}
