import type { FastifyInstance } from 'fastify';
import { registerAssets } from './assets.ts';
import { GUIDES } from './guides.ts';
import { registerPage } from './layout.ts';
import { makeGuide } from './pages/guide.ts';
import { registerReferencePage } from './reference-page.ts';

/** `/docs`: what a partner's developers read and try. Needs no key, and no other server. */
export function registerPortal(app: FastifyInstance): void {
  for (const guide of GUIDES) registerPage(app, guide.path, () => makeGuide(guide));
  registerReferencePage(app);
  registerAssets(app);
}
