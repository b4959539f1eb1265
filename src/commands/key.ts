import { issueKey, listKeys, revokeKey, rotateKey, type KeyDetails, type NewKey } from '../access/key-admin.ts';
import { keyEnvironmentOf } from '../access/keys.ts';
import type { CommandContext } from './context.ts';
import { renderColumns } from './output.ts';

/** `pds key issue NAME`: prints only the key to stdout. */
export async function issue(
  { config, database, clock, output }: CommandContext,
  partnerName: string,
  lifetimeMs: number | null,
): Promise<undefined> {
  const environment = keyEnvironmentOf(config.environment);
  const issued = await issueKey(database, clock, partnerName, { environment, lifetimeMs });
  output.result(newKeyJson(issued), issued.key);
  if (!output.isJson) output.note(describeNewKey(issued));
}

/** `pds key list [NAME]` */
export async function list(
  { database, clock, output }: CommandContext,
  partnerName: string | null,
): Promise<undefined> {
  const keys = await listKeys(database, clock, partnerName);
  output.result({ keys: keys.map(keyJson) }, renderKeys(keys));
}

/** `pds key rotate KEY_ID`: prints only the new key to stdout. */
export async function rotate(
  { database, clock, output }: CommandContext,
  keyId: string,
  overlapMs: number,
): Promise<undefined> {
  const { issued, replaced } = await rotateKey(database, clock, keyId, overlapMs);
  output.result({ ...newKeyJson(issued), replaces: keyJson(replaced) }, issued.key);
  if (!output.isJson) {
    output.note(describeNewKey(issued));
    const kept = replaced.keepsEarlierOverlap
      ? ` An earlier rotation promised that; to end it now: pds key revoke ${replaced.id}.`
      : '';
    output.note(
      `It takes the place of ${replaced.id}, which is refused from ${replaced.expiresAt ?? 'now'} on.${kept}`,
    );
  }
}

/** `pds key revoke KEY_ID` */
export async function revoke({ database, clock, output }: CommandContext, keyId: string): Promise<undefined> {
  const { key, isChanged } = await revokeKey(database, clock, keyId);
  output.done(
    { changed: isChanged, key: keyJson(key) },
    isChanged
      ? `Revoked key ${key.id} of ${key.partner}; running servers refuse it within a second.`
      : `Key ${key.id} of ${key.partner} was revoked already, at ${key.revokedAt ?? ''}.`,
  );
}

/** Renders a table of keys with a heading. */
export function renderKeys(keys: readonly KeyDetails[]): string[] {
  const rows = keys.map((key) => [
    key.id,
    key.environment,
    key.state,
    key.createdAt,
    key.expiresAt ?? 'never',
    key.revokedAt ?? '-',
    key.replacedBy ?? '-',
    key.partner,
  ]);
  return renderColumns([
    ['KEY ID', 'FOR', 'STATE', 'CREATED', 'EXPIRES', 'REVOKED', 'REPLACED BY', 'PARTNER'],
    ...rows,
  ]);
}

/** A key in the form of `--json`. */
export function keyJson(key: KeyDetails): Record<string, unknown> {
  return {
    id: key.id,
    partner: key.partner,
    environment: key.environment,
    state: key.state,
    created_at: key.createdAt,
    expires_at: key.expiresAt,
    issued_expires_at: key.issuedExpiresAt,
    replaced_by: key.replacedBy,
    revoked_at: key.revokedAt,
  };
}

function newKeyJson({ key, details }: NewKey): Record<string, unknown> {
  return { key, ...keyJson(details) };
}

function describeNewKey({ details }: NewKey): string {
  const expiry = details.expiresAt === null ? 'never expires' : `expires at ${details.expiresAt}`;
  return (
    `Key ${details.id} of ${details.partner} is a ${details.environment} key and ${expiry}. ` +
    'Keep it now: only its digest is stored, and it cannot be shown again.'
  );
}
