import { createInterface } from 'node:readline';
import {
  findKey,
  issueKey,
  listKeys,
  revokeKey,
  rotateKey,
  type KeyDetails,
  type ListedKey,
  type NewKey,
} from '../../access/key-admin.ts';
import { findKeys, keyEnvironmentOf, parseKey } from '../../access/keys.ts';
import { getPartner } from '../../access/partner-admin.ts';
import { DAY_MS, formatTimestamp } from '../../timestamp.ts';
import type { CommandContext } from '../context.ts';
import { renderColumns } from '../output/output.ts';

/** `pds key issue NAME`: prints only the key to stdout. `expiresIn` is in milliseconds. */
export async function issue(
  { config, database, clock, output }: CommandContext,
  partnerName: string,
  { expiresIn, label }: { expiresIn?: number; label?: string },
): Promise<undefined> {
  const environment = keyEnvironmentOf(config.environment);
  const options = { environment, lifetimeMs: expiresIn ?? null, label: label ?? null };
  // Read first: once the key exists, nothing must prevent it from being printed.
  const { everythingSince, leadEntityCount, coopCount } = await getPartner(database, clock, partnerName);
  const issued = await issueKey(database, clock, partnerName, options);
  const seesNothing = everythingSince === null && leadEntityCount + coopCount === 0;
  output.result({ key: issued.key, ...issued.details }, issued.key, [
    describeNewKey(issued),
    ...(seesNothing
      ? [
          `warning: ${partnerName} sees no records yet. Grant it some with: pds partner grant ${partnerName} --lead-entity ID`,
        ]
      : []),
  ]);
}

/**
 * `pds key list [NAME]`. With `expiring`, for cron: lists only active keys that end within this many milliseconds,
 * prints nothing if there are none, and returns exit code 1 if there are any.
 */
export async function list(
  { database, clock, output }: CommandContext,
  partnerName: string | undefined,
  { expiring: expiringMs }: { expiring?: number },
): Promise<number> {
  const all = await listKeys(database, clock, partnerName ?? null);
  if (expiringMs === undefined) {
    output.result({ keys: all }, renderKeys(all));
    return 0;
  }
  const end = formatTimestamp(clock() + expiringMs);
  const keys = all.filter(({ state, expiresAt }) => state === 'active' && expiresAt !== null && expiresAt <= end);
  output.result({ keys }, keys.length === 0 ? [] : renderKeys(keys));
  return keys.length === 0 ? 0 : 1;
}

/** `pds key rotate KEY_ID`: prints only the new key to stdout. */
export async function rotate(
  { database, clock, output }: CommandContext,
  keyId: string,
  { overlap = DAY_MS }: { overlap?: number },
): Promise<undefined> {
  const { issued, replaced } = await rotateKey(database, clock, keyId, overlap);
  const { keepsEarlierEnd, earlierReplacements, ...replaces } = replaced;
  const earlier = keepsEarlierEnd
    ? ` An earlier rotation set this time; to revoke it now: pds key revoke ${replaces.id}.`
    : '';
  output.result({ key: issued.key, ...issued.details, replaces, earlierReplacements }, issued.key, [
    describeNewKey(issued),
    `It replaces ${replaces.id}, which works until ${replaces.expiresAt ?? 'now'}.${earlier}`,
    ...earlierReplacements.map((id) => `${id} replaced it before, and is active. If it was lost: pds key revoke ${id}`),
  ]);
}

/** `pds key revoke KEY_ID` */
export async function revoke({ database, clock, output }: CommandContext, keyId: string): Promise<undefined> {
  const { key, isChanged } = await revokeKey(database, clock, keyId);
  output.done(
    { changed: isChanged, key },
    isChanged
      ? `Revoked key ${key.id} of ${key.partner}; running servers reject it within a second.`
      : `Key ${key.id} of ${key.partner} was already revoked at ${key.revokedAt ?? ''}.`,
  );
}

export function renderKeys(keys: readonly ListedKey[]): string[] {
  const rows = keys.map((key) => [
    key.id,
    key.environment,
    key.state,
    key.createdAt,
    key.expiresAt ?? 'never',
    key.revokedAt ?? '-',
    key.lastUsedOn ?? '-',
    key.replacedBy ?? '-',
    key.partner,
    key.label ?? '-',
  ]);
  return renderColumns([
    ['KEY ID', 'FOR', 'STATE', 'CREATED', 'EXPIRES', 'REVOKED', 'LAST USED', 'REPLACED BY', 'PARTNER', 'LABEL'],
    ...rows,
  ]);
}

function describeNewKey({ details }: NewKey): string {
  const expiry = details.expiresAt === null ? 'never expires' : `expires at ${details.expiresAt}`;
  return (
    `Key ${details.id} of ${details.partner} is a ${details.environment} key and ${expiry}. ` +
    'Save it now: only its digest is stored, so it cannot be shown again.'
  );
}

interface FoundKey extends Partial<Omit<KeyDetails, 'id' | 'state'>> {
  readonly id: string;
  /** Line of its first occurrence, from 1. */
  readonly line: number;
  /** Unknown for a key not issued here: from another installation, or made up. */
  readonly state: KeyDetails['state'] | 'unknown';
}

/**
 * `pds key find`: finds keys in a text such as a log or a leaked repository. Reads standard input, since other users
 * can see command lines, and never prints the keys. Returns exit code 1 if one is active, otherwise 0.
 */
export async function find({ database, clock, output }: CommandContext): Promise<number> {
  const lines = new Map<string, number>();
  let number = 0;
  for await (const line of createInterface({ input: process.stdin, crlfDelay: Infinity })) {
    number += 1;
    for (const key of findKeys(line)) if (!lines.has(key)) lines.set(key, number);
  }
  const found: FoundKey[] = [];
  for (const [key, line] of lines) {
    const details = await findKey(database, clock, key);
    found.push({ line, ...(details ?? { id: parseKey(key)?.id ?? '', state: 'unknown' }) });
  }
  const rows = found.map(({ line, id, environment = '-', state, partner = '-', label }) => {
    return [String(line), id, environment, state, partner, label ?? '-'];
  });
  const revoke = found.filter(({ state }) => state === 'active').map(({ id }) => `pds key revoke ${id}`);
  if (found.length === 0) {
    output.result({ keys: [] }, [], `There is no key in this text (${number} lines).`);
    return 0;
  }
  output.result(
    { keys: found },
    renderColumns([['LINE', 'KEY ID', 'FOR', 'STATE', 'PARTNER', 'LABEL'], ...rows]),
    revoke.length === 0 ? 'None of these keys is active here.' : `Still active. Revoke with: ${revoke.join(', ')}`,
  );
  return revoke.length === 0 ? 0 : 1;
}
