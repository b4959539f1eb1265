import type { ModelRequest } from '../model/requests.ts';
import { loadModel, type Model } from '../model/model.ts';
import { createDirectories } from '../support/data.ts';
import type { HttpResponse } from '../support/client.ts';
import { startService, type ServiceSetup, type TestService } from '../support/service.ts';

/** Partners with every kind of scope: all, through a lead entity, through a coop, mixed and overlapping, nothing. */
export const PARTNERS = [
  { name: 'everything', everything: true },
  { name: 'one-lead-entity', leadEntities: ['le_city_of_pittsburgh_d85d'] },
  { name: 'one-coop', coops: ['co_costars_963a'] },
  {
    name: 'mixed',
    leadEntities: ['gen_le_a0', 'gen_le_B1', 'le_allegheny_county_902c', 'le_department_of_defense_c068'],
    coops: ['gen_co_b_2', 'co_pennsylvania_dgs_state_contrac_a4c3'],
  },
  { name: 'generated', leadEntities: ['gen_le_b_2', 'gen_le_-c3', 'gen_le_Z94', 'gen_le_a6'], coops: ['gen_co_a0'] },
  { name: 'nothing' },
];

/** The path and query of a request; for a list without `limit`. */
export function pathOf(request: ModelRequest): string {
  if (request.type === 'detail') return `/v1/${request.kind}/${encodeURIComponent(request.id)}`;
  const path = `/v1/${request.kind}${request.type === 'count' ? '/count' : ''}`;
  const query = new URLSearchParams(request.filters).toString();
  return query === '' ? path : `${path}?${query}`;
}

/** A body without its request id. */
export function withoutRequestId({ body }: HttpResponse): string {
  return body.replace(/"request_id":"[^"]*"/, '"request_id":""');
}

/** A service with all test records, some imported after the grants, and the model of them. */
export interface ModelledService {
  readonly service: TestService;
  readonly model: Model;
  close(): Promise<void>;
}

/** Starts the service with the six partners. The caller must close it. */
export async function startModelledService(
  seed: number,
  setup: Pick<ServiceSetup, 'engine' | 'watch' | 'cursorSecret'> = {},
): Promise<ModelledService> {
  const records = createDirectories(seed);
  const service = await startService({
    ...setup,
    directories: records.first,
    // Small, so that lists and counts span many index blocks, and the second import splits some.
    blockSize: 1_024,
    partners: PARTNERS,
    directoriesAfterGrants: records.later,
  });
  return {
    service,
    model: loadModel(service.published),
    async close() {
      await service.close();
      records.remove();
    },
  };
}
