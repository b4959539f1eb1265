import scalar from '@scalar/fastify-api-reference';
import type { APIRoute } from 'astro';
import { fastify } from 'fastify';

/**
 * Scalar's browser script. The package contains it only as text inside a Fastify plugin that serves it, so the build
 * requests it from there once.
 */
export const GET: APIRoute = async () => {
  const host = fastify();
  await host.register(scalar, { routePrefix: '/docs', configuration: { url: '/openapi.json' } });
  const response = await host.inject('/docs/js/scalar.js');
  await host.close();
  if (response.statusCode !== 200) throw new Error(`Scalar's script is not where it was: ${response.statusCode}`);
  return new Response(response.payload, { headers: { 'content-type': 'text/javascript; charset=utf-8' } });
};
