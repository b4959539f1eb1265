/** PromQL keywords, which are not metrics. */
const KEYWORDS = new Set(['and', 'or', 'unless', 'offset', 'bool', 'inf', 'nan', 'atan2']);

/**
 * The metrics in a query, each with the labels in its braces. Not a parser: it removes strings and the label lists after
 * `by`, `on` and similar, and takes every remaining name that is not a function call for a metric.
 */
export function metricsIn(query: string): { name: string; labels: string[] }[] {
  const bare = query
    .replaceAll(/"[^"]*"/g, '""')
    .replaceAll(/\b(by|without|on|ignoring|group_left|group_right)\s*\([^)]*\)/g, ' ')
    .replaceAll(/\[[^\]]*\]/g, ' ')
    .replaceAll(/\boffset\s+\w+/g, ' ');
  // Numbers can contain letters too: 500e6.
  const names = bare.matchAll(/(?<![\w.$:])([a-zA-Z_:][\w:]*)\s*(?:\{([^}]*)\})?(?!\s*[\w(])/g);
  return [...names].flatMap(([, name = '', matchers = '']) =>
    KEYWORDS.has(name.toLowerCase())
      ? []
      : [{ name, labels: [...matchers.matchAll(/(\w+)\s*(?:=|!)/g)].map(([, label = '']) => label) }],
  );
}
