import { cpuSeconds } from './usage.ts';

/** The processes whose CPU time is measured. */
export interface MeasuredProcesses {
  serverPid: number;
  /** Null for a server without PostgreSQL, so that PostgreSQL's work for others is not counted. */
  postgresPid: number | null;
}

/** Microseconds of CPU time per request; null if the system does not report them. */
export interface CpuPerRequest {
  server: number | null;
  database: number | null;
}

/** Measures the CPU time that a server and PostgreSQL use from construction on. */
export class CpuMeter {
  readonly #processes: MeasuredProcesses;
  readonly #server: number | null;
  readonly #database: number | null;

  constructor(processes: MeasuredProcesses) {
    this.#processes = processes;
    this.#server = cpuSeconds(processes.serverPid);
    this.#database = processes.postgresPid === null ? null : cpuSeconds(processes.postgresPid);
  }

  perRequest(requests: number): CpuPerRequest {
    const { serverPid, postgresPid } = this.#processes;
    const micros = (before: number | null, after: number | null): number | null =>
      before === null || after === null ? null : ((after - before) / requests) * 1e6;
    return {
      server: micros(this.#server, cpuSeconds(serverPid)),
      database: postgresPid === null ? null : micros(this.#database, cpuSeconds(postgresPid)),
    };
  }
}
