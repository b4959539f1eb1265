/**
 * Prepares the tables of a page that have three or more columns for a phone, on which each row is a card: cells have the
 * titles of their columns, and roles, since a table that is not displayed as one loses them.
 */
export function labelCells(page: string): string {
  return page.replaceAll(/<table>.*?<\/table>/gs, (table) => {
    const titles = [...table.matchAll(/<th\b[^>]*>(.*?)<\/th>/gs)].map(([, title = '']) =>
      title.replaceAll(/<[^>]+>/g, ''),
    );
    if (titles.length < 3) return table;
    let cell = 0;
    return table
      .replace('<table>', '<table class="cards" role="table">')
      .replaceAll('<th>', '<th role="columnheader">')
      .replaceAll('<tr>', '<tr role="row">')
      .replaceAll(/<(thead|tbody)>/g, '<$1 role="rowgroup">')
      .replaceAll('<td>', () => `<td role="cell" data-label="${titles[cell++ % titles.length] ?? ''}">`);
  });
}
