/** The key that a demo publishes; null if the service is no demo or does not respond. */
export async function readDemoKey(): Promise<string | null> {
  try {
    const response = await fetch('/docs/service.json');
    return ((await response.json()) as { demo_key: string | null }).demo_key;
  } catch {
    return null;
  }
}
