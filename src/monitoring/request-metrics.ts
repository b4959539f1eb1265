import type { Registry } from 'prom-client';
import type { ObservedRequest, RequestObserver } from '../http/request/request-observers.ts';
import { metricsOf, type Sample } from './metrics.ts';

const DURATIONS = 'pds_http_request_duration_seconds';

/** In seconds. A cached response takes a tenth of the first bound; the last is the query timeout. */
const DURATION_BOUNDS = [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5];

/** Label of requests that match no route, since clients can send any number of different URLs. */
const NO_ROUTE = 'none';

/** Label of requests without a valid key. */
const NO_PARTNER = '';

/** Label of requests whose client disconnected before the response was complete. */
const ABORTED = 'aborted';

interface PartnerCounts {
  readonly byStatus: Map<number | null, number>;
  records: number;
}

interface RouteCounts {
  readonly byPartner: Map<string, PartnerCounts>;
  /**
   * Requests by the first bound that their duration does not exceed; the last element counts those above all bounds.
   */
  readonly byDuration: number[];
  totalSeconds: number;
}

/**
 * Counts requests in plain numbers, which become metrics on a scrape. prom-client's counters and histograms build a
 * string to look up their labels each time, which takes 0.7 µs per request instead of 0.03 µs. A cached response takes
 * 27 µs in total.
 */
export class RequestMetrics {
  readonly #routes = new Map<string, RouteCounts>();

  /** Call for each finished request. */
  readonly observe: RequestObserver = ({ route, status, durationMs, partner, rows }: ObservedRequest) => {
    const counts = this.#countsOf(route ?? NO_ROUTE);
    const ofPartner = countsOfPartner(counts, partner?.name ?? NO_PARTNER);
    ofPartner.byStatus.set(status, (ofPartner.byStatus.get(status) ?? 0) + 1);
    ofPartner.records += rows;
    const seconds = durationMs / 1000;
    counts.totalSeconds += seconds;
    let index = 0;
    while (index < DURATION_BOUNDS.length && seconds > (DURATION_BOUNDS[index] ?? 0)) index += 1;
    counts.byDuration[index] = (counts.byDuration[index] ?? 0) + 1;
  };

  register(registry: Registry): void {
    const { counter, histogram } = metricsOf(registry);
    counter(
      'pds_http_requests_total',
      'Requests by endpoint, status and partner. The partner is empty without a valid key; the status is "aborted" if the client disconnected',
      () =>
        [...this.#partners()].flatMap(({ route, partner, byStatus }) =>
          [...byStatus].map(([status, value]) => ({ labels: { route, status: status ?? ABORTED, partner }, value })),
        ),
    );
    counter('pds_records_total', 'Records returned, by endpoint and partner', () =>
      [...this.#partners()]
        .filter(({ records }) => records > 0)
        .map(({ route, partner, records: value }) => ({ labels: { route, partner }, value })),
    );
    histogram(DURATIONS, 'Time from the arrival of a request to the end of its response, by endpoint', () =>
      [...this.#routes].flatMap(([route, counts]) => histogramOf(route, counts)),
    );
  }

  *#partners(): Iterable<PartnerCounts & { route: string; partner: string }> {
    for (const [route, { byPartner }] of this.#routes) {
      for (const [partner, counts] of byPartner) yield { route, partner, ...counts };
    }
  }

  #countsOf(route: string): RouteCounts {
    let counts = this.#routes.get(route);
    if (counts === undefined) {
      counts = { byPartner: new Map(), byDuration: [...DURATION_BOUNDS, Infinity].map(() => 0), totalSeconds: 0 };
      this.#routes.set(route, counts);
    }
    return counts;
  }
}

/** In the format of prom-client's histograms: buckets are cumulative. */
function histogramOf(route: string, { byDuration, totalSeconds }: RouteCounts): Sample[] {
  let count = 0;
  const buckets = byDuration.map((more, index) => {
    count += more;
    return { metricName: `${DURATIONS}_bucket`, labels: { le: DURATION_BOUNDS[index] ?? '+Inf', route }, value: count };
  });
  return [
    ...buckets,
    { metricName: `${DURATIONS}_sum`, labels: { route }, value: totalSeconds },
    { metricName: `${DURATIONS}_count`, labels: { route }, value: count },
  ];
}

function countsOfPartner({ byPartner }: RouteCounts, partner: string): PartnerCounts {
  let counts = byPartner.get(partner);
  if (counts === undefined) {
    counts = { byStatus: new Map(), records: 0 };
    byPartner.set(partner, counts);
  }
  return counts;
}
