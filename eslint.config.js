// Editors look for it here. It imports packages that are installed in tools/.
export { default } from './tools/eslint.config.js';
