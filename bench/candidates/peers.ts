import type { RunningCandidate } from './candidate.ts';
import { startDirectus } from './directus.ts';
import { installPeers } from './peer-installation.ts';
import { DIRECTUS, PLATFORMATIC, POSTGRAPHILE } from './peer-names.ts';
import { startPlatformatic } from './platformatic.ts';
import { startPostGraphile } from './postgraphile.ts';

interface Peer {
  name: string;
  start(): Promise<RunningCandidate>;
}

/** Products that teams use instead. Starting the first one installs all of them. */
export function peersOver(plainUrl: string, scratch: string): Peer[] {
  const starts: [string, () => Promise<RunningCandidate>][] = [
    [PLATFORMATIC, () => startPlatformatic(plainUrl)],
    [POSTGRAPHILE, () => startPostGraphile(plainUrl)],
    [DIRECTUS, () => startDirectus(plainUrl, scratch)],
  ];
  return starts.map(([name, start]) => ({ name, start: () => installPeers().then(start) }));
}
