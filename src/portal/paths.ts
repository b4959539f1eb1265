/** Where the portal begins. Every page of it is at this address or below. */
export const DOCS_PATH = '/docs';

export const REFERENCE_PATH = `${DOCS_PATH}/reference`;
export const EXPLORER_PATH = `${DOCS_PATH}/explorer`;
export const GUIDES_PATH = `${DOCS_PATH}/guides`;

/** Those in docs/pictures. */
export const PICTURES_PATH = `${DOCS_PATH}/pictures`;

/** What browsers load: `assets/styles.css` is `browser/styles.css`. */
export const ASSETS_PATH = `${DOCS_PATH}/assets`;
