import starlight from '@astrojs/starlight';
import { defineConfig, passthroughImageService } from 'astro/config';
import { SIDEBAR } from './src/guides.ts';

/** The site's root path. The service serves it, and redirects from `/`. */
const BASE = '/docs';

export default defineConfig({
  base: BASE,
  trailingSlash: 'never',
  // The service allows no inline scripts or styles; build.ts moves the framework's own into files.
  build: { inlineStylesheets: 'never' },
  vite: { build: { assetsInlineLimit: 0 } },
  image: { service: passthroughImageService() },
  integrations: [
    starlight({
      title: 'Partner data service',
      titleDelimiter: '·',
      favicon: '/icon.svg',
      logo: { light: './src/assets/logo-light.svg', dark: './src/assets/logo-dark.svg', alt: '' },
      sidebar: SIDEBAR,
      markdown: { processedDirs: ['../docs/partner-guide'] },
      customCss: ['./src/styles/theme.css'],
      components: {
        EditLink: './src/components/MarkdownLink.astro',
        MarkdownContent: './src/components/Guide.astro',
        SocialIcons: './src/components/MainLinks.astro',
      },
      disable404Route: true,
      credits: false,
      expressiveCode: {
        themes: ['github-dark-default', 'github-light-default'],
        defaultProps: { frame: 'none' },
        styleOverrides: { borderRadius: '0.5rem', codeFontSize: '0.84rem', frames: { frameBoxShadowCssValue: 'none' } },
      },
    }),
  ],
});
