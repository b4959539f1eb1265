import { ATTR_ERROR_TYPE } from '@opentelemetry/semantic-conventions';
import { SpanStatusCode, type Span } from '@opentelemetry/api';
import type {
  KyselyPlugin,
  OperationNode,
  PluginTransformQueryArgs,
  PluginTransformResultArgs,
  QueryResult,
  RootOperationNode,
  UnknownRow,
} from 'kysely';
import type { OpenDatabase } from '../database/database.ts';
import { startChild, type TracedRequest, type Tracing } from './tracing.ts';

const SYSTEMS = { postgres: 'postgresql', sqlite: 'sqlite' } as const;

/**
 * Wraps a database so that each statement becomes a span of the request that it runs for. The span's name is the
 * statement key, which determines its SQL text and contains no values. Statements outside a request get no span.
 */
export function traceStatements(database: OpenDatabase, tracing: Tracing): OpenDatabase {
  const { tracer, current } = tracing;
  const system = SYSTEMS[database.engine];
  return {
    ...database,
    kysely: database.kysely.withPlugin(new StatementSpans(tracing, system)),
    run: (statementKey, build, values, source) => {
      const request = current.getStore();
      if (request === undefined) return database.run(statementKey, build, values, source);
      const span = startChild(tracer, request, statementKey, system);
      try {
        const rows = database.run(statementKey, build, values, source);
        if (!(rows instanceof Promise)) {
          span.end();
          return rows;
        }
        return rows.then(
          (found) => {
            span.end();
            return found;
          },
          (error: unknown) => throwFrom(span, error),
        );
      } catch (error) {
        return throwFrom(span, error);
      }
    },
  };
}

/** An error's message can contain values; its code does not. */
function throwFrom(span: Span, error: unknown): never {
  const { code, name } = error as { code?: unknown; name?: unknown };
  span.setAttribute(ATTR_ERROR_TYPE, String(code ?? name)).setStatus({ code: SpanStatusCode.ERROR });
  span.end();
  throw error;
}

/**
 * Spans for statements built by Kysely on each call, such as the key lookup. The span of a failed statement ends with
 * its request.
 */
class StatementSpans implements KyselyPlugin {
  readonly #tracing: Tracing;
  readonly #system: string;
  readonly #spans = new WeakMap<object, { request: TracedRequest; span: Span }>();

  constructor(tracing: Tracing, system: string) {
    this.#tracing = tracing;
    this.#system = system;
  }

  transformQuery({ node, queryId }: PluginTransformQueryArgs): RootOperationNode {
    const request = this.#tracing.current.getStore();
    if (request !== undefined) {
      const span = startChild(this.#tracing.tracer, request, nameOf(node), this.#system);
      request.open.add(span);
      this.#spans.set(queryId, { request, span });
    }
    return node;
  }

  async transformResult({ queryId, result }: PluginTransformResultArgs): Promise<QueryResult<UnknownRow>> {
    const found = this.#spans.get(queryId);
    found?.span.end();
    found?.request.open.delete(found.span);
    return result;
  }
}

/** Operation and table: `select access.partners`. */
function nameOf(node: RootOperationNode): string {
  const [table] = node.kind === 'SelectQueryNode' ? (node.from?.froms ?? []) : [];
  const operation = node.kind.replace(/(Query)?Node$/, '').toLowerCase();
  return [operation, tableName(table)].filter((word) => word !== '').join(' ');
}

function tableName(node: OperationNode | undefined): string {
  if (node?.kind === 'AliasNode') return tableName((node as OperationNode & { node: OperationNode }).node);
  if (node?.kind !== 'TableNode') return '';
  const { table } = node as OperationNode & {
    table: { schema?: { name: string }; identifier: { name: string } };
  };
  return table.schema === undefined ? table.identifier.name : `${table.schema.name}.${table.identifier.name}`;
}
