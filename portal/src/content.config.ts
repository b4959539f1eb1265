import { docsSchema } from '@astrojs/starlight/schema';
import { defineCollection } from 'astro:content';
import type { Loader } from 'astro/loaders';
import { glob, readFile } from 'node:fs/promises';
import { relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import { GUIDES_PATTERN, readGuide, slugOf } from './guides.ts';

const linkToMarkdown = (id: string): object => ({
  tag: 'link',
  attrs: { rel: 'alternate', type: 'text/markdown', href: `/docs/${id}.md` },
});

/** Loads the guides from the repository's documentation. */
const guides: Loader = {
  name: 'guides',
  async load(context) {
    const { config, store, watcher } = context;
    const project = new URL('../', config.root);
    const load = async (file: string): Promise<void> => {
      const fileURL = new URL(file, project);
      const markdown = await readFile(fileURL, 'utf8');
      const { CLIENT_INTEGRITY: client = '', SERVER_INTEGRITY: server = '' } = process.env;
      const { title, body } = readGuide(file, markdown, { client, server });
      const id = slugOf(file);
      const filePath = relative(fileURLToPath(config.root), fileURLToPath(fileURL));
      const data = await context.parseData({
        id,
        data: { title, head: [linkToMarkdown(id)], ...(id === 'index' && { tableOfContents: false }) },
        filePath,
      });
      const rendered = await context.renderMarkdown(body, { fileURL });
      const assetImports = rendered.metadata?.imagePaths;
      store.set({
        id,
        data,
        body,
        filePath,
        rendered,
        digest: context.generateDigest(markdown),
        ...(assetImports && { assetImports }),
      });
    };
    store.clear();
    const files = await Array.fromAsync(glob(GUIDES_PATTERN, { cwd: fileURLToPath(project) }));
    await Promise.all(files.map(load));
    watcher?.add(files.map((file) => fileURLToPath(new URL(file, project))));
    watcher?.on('change', (path) => {
      const file = relative(fileURLToPath(project), path);
      if (files.includes(file)) void load(file);
    });
  },
};

export const collections = { docs: defineCollection({ loader: guides, schema: docsSchema() }) };
