import { NotFoundError, type Client, type RequestOptions, type Solicitation } from '../../client/src/index.ts';

/** Solicitations that one call looks at: each is a request. */
export const MAX_LOOKED_AT = 25;

/**
 * Keeps the solicitations with one of these NIGP classes, or of a class below one. Lists neither have codes nor filter by
 * them: this reads each detail, so that the caller must bound the list and say so. A parameter of the list that filters by
 * NIGP replaces this function and the bound.
 */
export async function withNigp(
  client: Client,
  listed: readonly Solicitation[],
  classes: readonly string[],
  options: RequestOptions,
): Promise<Solicitation[]> {
  const details = listed.map(({ id }) =>
    client.solicitations.get(id, options).catch((error: unknown) => {
      // It was removed after it was listed.
      if (error instanceof NotFoundError) return { nigp_codes: [] };
      throw error;
    }),
  );
  const codes = (await Promise.all(details)).map((detail) => detail.nigp_codes.map(({ code }) => code));
  const hasClass = (code: string): boolean => classes.some((wanted) => code.startsWith(wanted));
  return listed.filter((_one, index) => codes[index]?.some(hasClass));
}
