/** A program that uses the types as users do. Lines that must not compile are marked. */
export const TYPED_PROGRAM = `
import { createClient, memoryCache, NotFoundError, type Contract, type Page, type SolicitationDetail } from 'partner-data-client';
const client = createClient({ baseUrl: 'https://api.example.com', apiKey: 'key', cache: memoryCache(), retry: { retries: 2 } });
export async function main(signal: AbortSignal, since: string | undefined): Promise<string[]> {
  const names: string[] = [];
  for await (const contract of client.contracts.list({ q: 'fire', updated_since: since }, { signal })) {
    const known: Contract = contract;
    names.push(known.name, known.coop?.name ?? 'none');
    // @ts-expect-error a record has the fields of the interface alone
    known.title;
  }
  for await (const page of client.solicitations.list({ status: 'open', closing_after: new Date() }).pages()) {
    const { watermark, nextCursor, data }: Page<{ id: string; is_open: boolean }> = page;
    names.push(watermark, nextCursor ?? '', ...data.map(({ id }) => id));
  }
  const detail: SolicitationDetail = await client.solicitations.get(7);
  names.push(...detail.notices.map(({ title }) => title));
  client.suppliers.list({ certifications: ['MBE', 'DBE'], state: 'PA' });
  // @ts-expect-error drafts are not served
  client.solicitations.list({ status: 'draft' });
  // @ts-expect-error there is no such parameter
  client.contracts.list({ lead: 'x' });
  // @ts-expect-error contracts have no number
  void client.contracts.get(7).catch((error: unknown) => error instanceof NotFoundError && error.requestId);
  // @ts-expect-error nothing can be asked without a key
  createClient({ baseUrl: '' });
  return names;
}
`;
