import type { FastifyInstance } from 'fastify';
import { registerAssets } from './assets.ts';
import { registerPage } from './layout.ts';
import { makeHome } from './pages/home.ts';
import { DOCS_PATH } from './paths.ts';
import { registerReferencePage } from './reference-page.ts';

/** `/docs`: what a partner's developers read and try. Needs no key, and no other server. */
export function registerPortal(app: FastifyInstance): void {
  registerPage(app, DOCS_PATH, makeHome);
  registerReferencePage(app);
  registerAssets(app);
}
