/** Words that stand in a query and name nothing. */
const KEYWORDS = new Set(['and', 'or', 'unless', 'offset', 'bool', 'inf', 'nan', 'atan2']);

/** A metric as a query names it, with the labels that its braces name. */
export interface NamedMetric {
  readonly name: string;
  readonly labels: readonly string[];
}

/**
 * The metrics that a query names. Not a parser: texts, and the labels after `by`, `on` and their
 * like, are taken out, and what is left and no function is a metric.
 */
export function metricsIn(query: string): NamedMetric[] {
  const bare = query
    .replaceAll(/"[^"]*"/g, '""')
    .replaceAll(/\b(by|without|on|ignoring|group_left|group_right)\s*\([^)]*\)/g, ' ')
    .replaceAll(/\[[^\]]*\]/g, ' ')
    .replaceAll(/\boffset\s+\w+/g, ' ');
  // A number may have letters too: 500e6.
  const names = bare.matchAll(/(?<![\w.$:])([a-zA-Z_:][\w:]*)\s*(?:\{([^}]*)\})?(?!\s*[\w(])/g);
  return [...names].flatMap(([, name = '', matchers = '']) =>
    KEYWORDS.has(name.toLowerCase())
      ? []
      : [{ name, labels: [...matchers.matchAll(/(\w+)\s*(?:=|!)/g)].map(([, label = '']) => label) }],
  );
}
