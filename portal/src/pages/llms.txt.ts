import type { APIRoute } from 'astro';
import { getEntry } from 'astro:content';
import { asMarkdown } from '../guides.ts';

/** A row of the overview's table of guides. */
const ROW = /^\| \[(?<title>[^\]]+)\]\((?<link>[^)]+)\) +\| (?<covers>.+?) +\|$/gm;

/** The index of the guides for language models: https://llmstxt.org. */
export const GET: APIRoute = async () => {
  const overview = (await getEntry('docs', 'index')) as { data: { title: string }; body: string };
  const body = asMarkdown(overview.body);
  const [about = ''] = body.trim().split('\n\n');
  const guides = [...body.matchAll(ROW)].map(
    ({ groups = {} }) => `- [${groups.title}](${groups.link}): ${groups.covers}`,
  );
  if (guides.length === 0) throw new Error('the overview has no table of guides');
  const text = `# ${overview.data.title}

> ${about.replaceAll('\n', ' ')}

Examples read the service's address and the key from \`PARTNER_DATA_URL\` and \`PARTNER_DATA_KEY\`.

## Guides

${guides.join('\n')}
- [All guides](/docs/llms-full.txt): in one text

## Reference

- [OpenAPI 3.1](/openapi.json): every path, parameter, field and response
- [OpenAPI 3.0](/openapi-3.0.json): the same, for tools that do not read 3.1
`;
  return new Response(text, { headers: { 'content-type': 'text/plain; charset=utf-8' } });
};
