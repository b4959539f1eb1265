import { docsSchema } from '@astrojs/starlight/schema';
import { defineCollection } from 'astro:content';
import type { Loader } from 'astro/loaders';
import { readdir, readFile } from 'node:fs/promises';
import { relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import { GUIDES_DIRECTORY, readGuide, slugOf } from './guides.ts';

/** Loads the guides from the repository's documentation. */
const guides: Loader = {
  name: 'guides',
  async load(context) {
    const { config, store, watcher } = context;
    const directory = new URL(`../${GUIDES_DIRECTORY}/`, config.root);
    const load = async (file: string): Promise<void> => {
      const fileURL = new URL(file, directory);
      const markdown = await readFile(fileURL, 'utf8');
      const { title, body } = readGuide(file, markdown);
      const id = slugOf(file);
      const filePath = relative(fileURLToPath(config.root), fileURLToPath(fileURL));
      const data = await context.parseData({ id, data: { title }, filePath });
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
    const files = await readdir(directory, { recursive: true });
    await Promise.all(files.filter((file) => file.endsWith('.md')).map(load));
    watcher?.add(fileURLToPath(directory));
    watcher?.on('change', (path) => {
      const file = relative(fileURLToPath(directory), path);
      if (files.includes(file)) void load(file);
    });
  },
};

export const collections = { docs: defineCollection({ loader: guides, schema: docsSchema() }) };
