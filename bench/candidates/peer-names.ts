export const DIRECTUS = 'Directus';
export const PLATFORMATIC = 'Platformatic DB';
export const POSTGRAPHILE = 'PostGraphile';
