/** Root path of the portal. All its pages are at or below it. */
export const DOCS_PATH = '/docs';

export const REFERENCE_PATH = `${DOCS_PATH}/reference`;
export const EXPLORER_PATH = `${DOCS_PATH}/explorer`;
export const GUIDES_PATH = `${DOCS_PATH}/guides`;

/** Serves the files in docs/pictures. */
export const PICTURES_PATH = `${DOCS_PATH}/pictures`;

/** Serves the files in `browser/`: `assets/styles.css` is `browser/styles.css`. */
export const ASSETS_PATH = `${DOCS_PATH}/assets`;
