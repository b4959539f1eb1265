import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { launchBrowser } from '../test/support/browser.ts';

// Takes pictures of the portal of a running service, for looking at it:
//   node scripts/take-screenshots.ts http://127.0.0.1:8080 DIRECTORY [PATH…]

const [origin = 'http://127.0.0.1:8080', directory = 'screenshots', ...paths] = process.argv.slice(2);
const PAGES = paths.length > 0 ? paths : ['/docs', '/docs/guides/first-request', '/docs/errors', '/docs/reference'];

await mkdir(directory, { recursive: true });
const browser = await launchBrowser();
for (const colorScheme of ['light', 'dark'] as const) {
  for (const [device, viewport] of Object.entries({
    desktop: { width: 1200, height: 800 },
    phone: { width: 390, height: 844 },
  })) {
    const page = await browser.newPage({ colorScheme, viewport });
    for (const path of PAGES) {
      await page.goto(`${origin}${path}`, { waitUntil: 'networkidle' });
      const name = path.slice(1).replaceAll('/', '-');
      await page.screenshot({ path: join(directory, `${name}-${device}-${colorScheme}.png`) });
    }
    await page.close();
  }
}
await browser.close();
