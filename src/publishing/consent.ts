import { describeLoss, type Loss } from './losses.ts';
import { ImportRefusedError, MAX_PROBLEMS, problemOf } from './problems.ts';
import { describeLargeRemoval, type LargeRemoval } from './write/removals.ts';

/** The changes that an import makes only if the operator allows them. */
interface Consequences {
  readonly removals: readonly LargeRemoval[];
  readonly lostAccess: readonly Loss[];
}

/** The import has consequences that were not allowed; nothing was written. */
export class ConsentRequiredError extends ImportRefusedError {
  readonly consequences: Consequences;

  constructor(consequences: Consequences) {
    const { removals, lostAccess } = consequences;
    const problems = [
      ...removals.map((removal) => {
        return problemOf(removal.file, `${describeLargeRemoval(removal)} To remove them, add --yes`);
      }),
      ...lostAccess.map((lost) => problemOf('', `${describeLoss(lost)}. To allow this, add --yes`)),
    ];
    super(problems.slice(0, MAX_PROBLEMS));
    this.consequences = consequences;
  }
}

/** For `pds diff`: what the import would ask about. */
export function describeConsequences({ removals, lostAccess }: Consequences): string[] {
  const end = 'The import asks for confirmation, or needs --yes';
  const partners = lostAccess.length === 1 ? '1 partner loses' : `${lostAccess.length} partners lose`;
  return [
    ...removals.map((removal) => `${removal.file} ${describeLargeRemoval(removal)} ${end}`),
    ...(lostAccess.length > 0 ? [`${partners} access. ${end}`] : []),
  ];
}
