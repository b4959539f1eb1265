import { grant, listGrants, revoke, type Grant, type Grants } from '../../access/grant-admin.ts';
import { countShownBy, kindsShown, type ShownRecords } from '../../access/grant-check.ts';
import { listKeys } from '../../access/key-admin.ts';
import { readCompleteListings, type CompleteListings } from '../../access/scope.ts';
import {
  checkPartnerName,
  createPartner,
  deletePartner,
  getPartner,
  getPartnerRow,
  listPartners,
  type PartnerSummary,
  renamePartner,
  resumePartner,
  setPartner,
  suspendPartner,
} from '../../access/partner-admin.ts';
import { awaitByOwner, listOwners } from '../../access/visibility/owners.ts';
import { OWNER_KINDS, OWNERS, type ByOwner, type Owner } from '../../access/visibility/rules.ts';
import type { Kind } from '../../kinds.ts';
import { withDatabase, type CommandContext } from '../context.ts';
import { renderKeys } from './key.ts';
import { confirm } from '../output/progress.ts';
import { renderColumns, type Output } from '../output/output.ts';

export interface GrantOptions {
  readonly everything?: boolean;
  readonly leadEntity?: readonly string[];
  readonly coop?: readonly string[];
}

export interface SetOptions {
  readonly perMinute?: number | 'default';
  readonly kinds?: readonly Kind[] | 'all';
}

/** `pds partner create NAME` */
export function create(output: Output, name: string, { everything = false }: { everything?: boolean }) {
  // Checked before a database is created for it.
  checkPartnerName(name);
  const work = async (context: CommandContext): Promise<undefined> => {
    await createPartner(context.database, context.clock, name, { everything });
    const next = everything
      ? `"pds key issue ${name}"`
      : `"pds partner grant ${name} --lead-entity ID", then "pds key issue ${name}"`;
    await reportChange(context, name, { changed: true }, `Created partner ${name}. Next: ${next}.`);
  };
  return withDatabase(output, work, { mayCreate: true });
}

/** `pds partner list` */
export async function list({ database, clock, output }: CommandContext): Promise<undefined> {
  const partners = await listPartners(database, clock);
  const rows = partners.map((partner) => [
    partner.name,
    partner.suspendedAt === null ? 'active' : 'suspended',
    String(partner.activeKeyCount),
    partner.requestsPerMinute?.toString() ?? 'default',
    partner.createdAt,
    describeScope(partner),
    partner.kinds?.join(',') ?? 'all',
  ]);
  const heading = ['NAME', 'STATE', 'ACTIVE KEYS', 'PER MINUTE', 'CREATED', 'SEES', 'KINDS'];
  output.result({ partners }, renderColumns([heading, ...rows]));
}

const WHY_COMPLETE: Readonly<Record<CompleteListings['because'], string>> = {
  upgrade: 'upgraded',
  creation: 'partner created',
  'revoked grant': 'grant revoked',
  'change of kinds': 'kinds changed',
  resumption: 'partner resumed',
  catalog: 'catalog upgraded or recovered, or removals deleted after PDS_REMOVALS_DAYS',
};

/** `pds partner show NAME` */
export async function show({ config, database, clock, output }: CommandContext, name: string): Promise<undefined> {
  const partner = await getPartner(database, clock, name);
  const listed = await listGrants(database, name);
  const grants = await awaitByOwner(async (owner, ofKind) => {
    const shown = await countShownBy(database, owner, listed[ofKind].map(({ id }) => id)); // prettier-ignore
    return listed[ofKind].map((grant): GrantWithRecords => ({ ...grant, gives: shown.get(grant.id) ?? null }));
  });
  const keys = await listKeys(database, clock, name);
  const completeChanges = await readCompleteListings(database, (await getPartnerRow(database, name)).id);
  const { upTo, because } = completeChanges;
  const sections = [
    renderColumns([
      ['name', partner.name],
      ['state', partner.suspendedAt === null ? 'active' : `suspended since ${partner.suspendedAt}`],
      ['created', partner.createdAt],
      ['sees', describeScope(partner)],
      ['kinds', partner.kinds?.join(',') ?? 'all'],
      ['changes', `a sync from ${upTo} or earlier lists every record (${WHY_COMPLETE[because]})`],
      ['per minute', partner.requestsPerMinute?.toString() ?? `${config.requestsPerMinute} (default)`],
    ]),
    ...OWNER_KINDS.flatMap((owner) => renderGrants(owner, grants, partner.kinds)),
    ...(keys.length > 0 ? [renderKeys(keys)] : []),
  ];
  output.result(
    { ...partner, completeChanges, grants, keys },
    sections.flatMap((section, index) => (index === 0 ? section : ['', ...section])),
  );
}

/** `pds partner suspend NAME` */
export async function suspend(context: CommandContext, name: string): Promise<undefined> {
  const changed = await suspendPartner(context.database, context.clock, name);
  const sentence = changed
    ? `Suspended ${name}; within a second, its requests are rejected with 403.`
    : `${name} was already suspended.`;
  await reportChange(context, name, { changed }, sentence);
}

/** `pds partner resume NAME` or `--all` */
export async function resume(context: CommandContext, name: string | undefined): Promise<undefined> {
  if (name === undefined) return resumeAll(context);
  const changed = await resumePartner(context.database, context.clock, name);
  await reportChange(context, name, { changed }, changed ? `Resumed ${name}.` : `${name} was not suspended.`);
}

async function resumeAll({ database, clock, output }: CommandContext): Promise<undefined> {
  const resumed: string[] = [];
  for (const { name, suspendedAt } of await listPartners(database, clock)) {
    if (suspendedAt !== null && (await resumePartner(database, clock, name))) resumed.push(name);
  }
  output.done({ resumed }, resumed.length === 0 ? 'No partner was suspended.' : `Resumed ${resumed.join(', ')}.`);
}

/** `pds partner rename OLD NEW` */
export async function rename(context: CommandContext, name: string, newName: string): Promise<undefined> {
  await renamePartner(context.database, context.clock, name, newName);
  const sentence = `Renamed ${name} to ${newName}; its keys keep working, and logs show the new name within a second.`;
  await reportChange(context, newName, { formerName: name }, sentence);
}

/** `pds partner delete NAME`: asks first, unless confirmed. */
export async function remove(
  { database, clock, output }: CommandContext,
  name: string,
  { yes: isConfirmed = false }: { yes?: boolean },
): Promise<undefined> {
  if (!isConfirmed) {
    const keys = (await listKeys(database, clock, name)).filter(({ state }) => state === 'active');
    output.note([
      `${name} sees ${describeScope(await getPartner(database, clock, name))}. Active keys: ${keys.length || 'none'}.`,
      ...(keys.length > 0 ? renderKeys(keys) : []),
      'A deleted partner and its keys cannot be brought back.',
    ]);
    await confirm(output, `Delete ${name}?`);
  }
  const { endedKeys, grantCount } = await deletePartner(database, clock, name);
  output.done(
    { name, endedKeys, removedGrants: grantCount },
    `Deleted ${name}. Running servers reject its keys within a second: ${endedKeys.join(', ') || 'none was active'}.`,
  );
}

/** `pds partner grant NAME …` */
export async function grantTo(context: CommandContext, name: string, options: GrantOptions): Promise<undefined> {
  const { granted, unchanged } = await grant(context.database, context.clock, name, grantsOf(options));
  const earlier = describeGrants(unchanged);
  const sentence = [
    `Granted to ${name}: ${describeGrants(granted) || 'nothing new'}.`,
    ...(earlier ? [`Already granted: ${earlier}.`] : []),
  ].join(' ');
  await reportChange(context, name, { granted, unchanged }, sentence);
}

/** `pds partner revoke NAME …` */
export async function revokeFrom(context: CommandContext, name: string, options: GrantOptions): Promise<undefined> {
  const revoked = grantsOf(options);
  await revoke(context.database, context.clock, name, revoked);
  const sentence = `Revoked from ${name}: ${describeGrants(revoked)}.`;
  await reportChange(context, name, { revoked }, sentence, (partner) =>
    partner.everythingSince === null && partner.leadEntityCount + partner.coopCount === 0
      ? ' It can no longer see any contract, solicitation or supplier.'
      : ` It can still see ${describeScope(partner)}.`,
  );
}

/** `pds partner set NAME …` */
export async function set(context: CommandContext, name: string, { perMinute, kinds }: SetOptions): Promise<undefined> {
  await setPartner(context.database, context.clock, name, {
    ...(perMinute !== undefined && { requestsPerMinute: perMinute === 'default' ? null : perMinute }),
    ...(kinds !== undefined && { kinds: kinds === 'all' ? null : kinds }),
  });
  await reportChange(context, name, {}, `Limits of ${name}:`, (partner) => {
    const limit = partner.requestsPerMinute ?? `${context.config.requestsPerMinute} (default)`;
    return ` ${limit} requests per minute, kinds ${partner.kinds?.join(',') ?? 'all'}.`;
  });
}

function grantsOf({ everything = false, leadEntity = [], coop = [] }: GrantOptions): Grants {
  return { everything, leadEntities: leadEntity, coops: coop };
}

async function reportChange(
  { database, clock, output }: CommandContext,
  name: string,
  value: Record<string, unknown>,
  sentence: string,
  remark: (partner: PartnerSummary) => string = () => '',
): Promise<void> {
  const partner = await getPartner(database, clock, name);
  output.done({ ...value, partner }, sentence + remark(partner));
}

/** A grant with the records that it gives; null if the catalog no longer contains its owner. */
type GrantWithRecords = Grant & { readonly gives: ShownRecords | null };

function renderGrants(owner: Owner, grants: ByOwner<readonly GrantWithRecords[]>, kinds: PartnerSummary['kinds']) {
  const { label, grants: ofKind } = OWNERS[owner];
  const rows = grants[ofKind].map(({ id, name, grantedAt, gives }) => {
    const given = kindsShown(kinds, gives).map((kind) => `${kind} ${gives?.[kind]}`);
    return [id, grantedAt, given.join(', ') || 'nothing', name ?? '(no longer in the catalog)'];
  });
  return rows.length === 0 ? [] : [renderColumns([[label.toUpperCase(), 'GRANTED', 'GIVES', 'NAME'], ...rows])];
}

function describeScope({ everythingSince, leadEntityCount, coopCount }: PartnerSummary): string {
  if (everythingSince !== null) return 'everything';
  return leadEntityCount + coopCount === 0
    ? 'nothing'
    : `${countOf(leadEntityCount, 'lead entity', 'lead entities')}, ${countOf(coopCount, 'coop', 'coops')}`;
}

function countOf(count: number, singular: string, plural: string): string {
  return `${count} ${count === 1 ? singular : plural}`;
}

function describeGrants(grants: Grants): string {
  const owners = listOwners(grants).map(({ owner, id }) => `${OWNERS[owner].label} ${id}`);
  return [...(grants.everything ? ['everything'] : []), ...owners].join(', ');
}
