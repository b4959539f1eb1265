import type { FastifyInstance } from 'fastify';
import { registerAssets } from './assets.ts';
import { makeExplorer } from './pages/explorer.ts';
import { GUIDES } from './guides.ts';
import { registerPage } from './layout.ts';
import { makeGuide } from './pages/guide.ts';
import { DOCS_PATH, EXPLORER_PATH, GUIDES_PATH } from './paths.ts';
import { registerPictures } from './pictures.ts';
import { registerReferencePage } from './reference-page.ts';

/** Paths reached by users who know only the host name, or who trim a guide's URL. */
const OTHER_WAYS_HOME: readonly string[] = ['/', GUIDES_PATH, `${GUIDES_PATH}/`];

/** `/docs`: documentation and explorer for partners' developers. Needs no key, and no other server. */
export function registerPortal(app: FastifyInstance): void {
  for (const guide of GUIDES)
    registerPage(app, guide.path, () => makeGuide(guide), guide.path === DOCS_PATH ? OTHER_WAYS_HOME : []);
  registerPage(app, EXPLORER_PATH, makeExplorer);
  registerReferencePage(app);
  registerAssets(app);
  registerPictures(app);
}
