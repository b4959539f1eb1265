import { format, resolveConfig } from 'prettier';

/** Formats the text of a file as `npm run format` would. */
export async function formatFor(path: string, text: string): Promise<string> {
  return format(text, { ...(await resolveConfig(path)), filepath: path });
}
