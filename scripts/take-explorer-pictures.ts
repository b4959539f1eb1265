import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { DEMO_KEY } from '../src/access/demo-key.ts';
import { launchBrowser } from '../test/support/browser.ts';

// Takes pictures of the explorer of a running demonstration, those in docs/pictures among them:
//   node scripts/take-explorer-pictures.ts http://127.0.0.1:8080 DIRECTORY [#/VIEW…]

const [origin = 'http://127.0.0.1:8080', directory = 'screenshots', ...addresses] = process.argv.slice(2);
const VIEWS =
  addresses.length > 0 ? addresses : ['#/overview', '#/timeline', '#/solicitations', '#/solicitations/900005'];

await mkdir(directory, { recursive: true });
const browser = await launchBrowser();
for (const colorScheme of ['light', 'dark'] as const) {
  for (const [device, viewport] of Object.entries({
    desktop: { width: 1100, height: 800 },
    phone: { width: 390, height: 844 },
  })) {
    const page = await browser.newPage({ colorScheme, viewport });
    await page.goto(`${origin}/docs/explorer`, { waitUntil: 'networkidle' });
    await page.getByLabel('API key').fill(DEMO_KEY);
    await page.keyboard.press('Enter');
    for (const address of VIEWS) {
      await page.evaluate(`location.hash = ${JSON.stringify(address)}`);
      await page.waitForLoadState('networkidle');
      await page.locator('#explorer:not(:has([aria-busy=true])) .view h2').waitFor();
      const name = `explorer-${address.replaceAll(/[^a-z0-9]+/g, '-').replace(/^-/, '')}`;
      await page.screenshot({ path: join(directory, `${name}-${device}-${colorScheme}.png`) });
    }
    await page.close();
  }
}
await browser.close();
