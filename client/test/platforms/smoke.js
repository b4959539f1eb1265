/**
 * Exercises each feature of the client once and returns the outcomes. Platform-independent: the caller passes in the
 * imported package.
 *
 * @param {typeof import('../../src/index.ts')} client
 * @param {{ origin: string, apiKey: string }} at an origin with the service under `/api` and faults under `/faulty`
 */
export async function smoke({ createClient, memoryCache, ...errors }, { origin, apiKey }) {
  const responses = [];
  const onAnswer = ({ status, path }) => responses.push(`${status} ${path.replace(/cursor=.*/, 'cursor=…')}`);
  const take = () => responses.splice(0);
  // A leaked timer would keep the program running this long.
  const timeoutMs = 3_600_000;
  const client = createClient({ baseUrl: `${origin}/api/`, apiKey, timeoutMs, cache: memoryCache(), onAnswer });

  const leadEntities = [];
  for await (const page of client.leadEntities.list({ limit: 30 }).pages()) {
    leadEntities.push([page.data.length, page.limit, page.watermark, page.rateLimit?.quota]);
  }
  const listed = take();
  const names = [];
  for await (const { name } of client.leadEntities.list({ limit: 30 })) names.push(name);
  const listedAgain = take();
  const [first] = (await client.solicitations.list({ q: 'services & "supplies"' }).pages().next()).value.data;
  const detail = await client.solicitations.get(first.ref);

  const faulty = (fault, options) =>
    createClient({ baseUrl: `${origin}/faulty/${fault}`, apiKey, retry: { minDelayMs: 1, retries: 1 }, ...options });
  const refusal = (promise) =>
    promise.then(
      () => 'none',
      (error) => [error.name, error instanceof errors.PartnerDataError, error.message.includes(apiKey)],
    );
  const controller = new AbortController();
  setTimeout(() => controller.abort(), 100);
  return {
    listed,
    listedAgain,
    leadEntities,
    names,
    detail: detail.id === first.id && Array.isArray(detail.notices),
    count: await client.solicitations.count({ closing_after: new Date('2026-04-15T09:00:00Z') }),
    health: await client.health(),
    notFound: await refusal(client.contracts.get('é/../ü')),
    unauthorized: await refusal(
      createClient({ baseUrl: `${origin}/api`, apiKey: 'wrong' })
        .coops.list()
        .pages()
        .next(),
    ),
    busyOnce: await faulty('busy').solicitations.count(),
    half: await refusal(faulty('half').health()),
    dropped: await refusal(faulty('dropped').health()),
    page: await refusal(faulty('page').health()),
    redirect: await refusal(faulty('redirect').health()),
    slow: await refusal(faulty('slow', { timeoutMs: 100 }).health()),
    aborted: await refusal(faulty('slow').health({ signal: controller.signal })),
  };
}
