import type { APIRoute } from 'astro';
import { getEntry } from 'astro:content';
import { asMarkdown, SLUGS_IN_ORDER } from '../guides.ts';

/** All guides in one text, in the order of the sidebar. */
export const GET: APIRoute = async () => {
  const guides = await Promise.all(
    SLUGS_IN_ORDER.map(async (slug) => {
      const { data, body } = (await getEntry('docs', slug)) as { data: { title: string }; body: string };
      return asMarkdown(`# ${data.title}\n${body}`).trim();
    }),
  );
  return new Response(`${guides.join('\n\n')}\n`, { headers: { 'content-type': 'text/plain; charset=utf-8' } });
};
