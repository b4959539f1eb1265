import { init } from 'echarts';

/** Draws a chart as SVG. `options` are those of ECharts. */
export function drawChart(width: number, height: number, options: object): string {
  const chart = init(null, null, { renderer: 'svg', ssr: true, width, height });
  chart.setOption({ animation: false, backgroundColor: '#ffffff', ...options });
  const svg = chart.renderToSVGString();
  chart.dispose();
  return svg;
}
