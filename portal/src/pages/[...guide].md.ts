import type { APIRoute } from 'astro';
import { getCollection } from 'astro:content';
import { asMarkdown } from '../guides.ts';

interface Guide {
  readonly title: string;
  readonly body: string;
}

/** Each guide at the address of its page, with `.md`. */
export async function getStaticPaths(): Promise<{ params: { guide: string }; props: Guide }[]> {
  const guides = (await getCollection('docs')) as { id: string; data: { title: string }; body?: string }[];
  return guides.map(({ id, data: { title }, body = '' }) => ({ params: { guide: id }, props: { title, body } }));
}

export const GET: APIRoute<Guide> = ({ props: { title, body } }) =>
  new Response(asMarkdown(`# ${title}\n${body}`), { headers: { 'content-type': 'text/markdown; charset=utf-8' } });
