import { existsSync, readdirSync, readFileSync } from 'node:fs';

/** USER_HZ, the unit of CPU time in Linux's /proc; 100 in every common kernel build. */
const TICKS_PER_SECOND = 100;

/** CPU seconds used so far by a process and its descendants; NaN if the system does not report them. */
function cpuSeconds(pid: number): number {
  const ticks = treeOf(pid).map((member) => {
    const [user = 0, system = 0, childUser = 0, childSystem = 0] = statFields(member).slice(11, 15).map(Number);
    return user + system + childUser + childSystem;
  });
  return ticks.length === 0 ? NaN : ticks.reduce((sum, one) => sum + one, 0) / TICKS_PER_SECOND;
}

/** CPU seconds of a server and of PostgreSQL. */
export interface CpuSeconds {
  server: number;
  /** 0 for a server without PostgreSQL. */
  database: number;
}

/** Begins to measure the CPU time of a server and of PostgreSQL. The result returns what they have used since. */
export function startCpuMeter(serverPid: number, postgresPid: number | null): () => CpuSeconds {
  const read = (): CpuSeconds => ({
    server: cpuSeconds(serverPid),
    database: postgresPid === null ? 0 : cpuSeconds(postgresPid),
  });
  const before = read();
  return () => {
    const { server, database } = read();
    return { server: server - before.server, database: database - before.database };
  };
}

/** Resident memory of a process and its descendants, in megabytes. */
export function residentMegabytes(pid: number): number {
  return treeOf(pid).reduce((total, member) => total + megabytesIn(`${member}/status`, 'VmRSS'), 0);
}

/** Peak resident memory of a process so far, in megabytes. */
export function peakMegabytes(pid: number): number {
  return megabytesIn(`${pid}/status`, 'VmHWM');
}

function megabytesIn(path: string, field: string): number {
  return Number(new RegExp(`^${field}:\\s+(\\d+) kB`, 'm').exec(readProc(path))?.[1] ?? 0) / 1024;
}

function treeOf(pid: number): number[] {
  const parents = new Map<number, number>();
  for (const entry of existsSync('/proc') ? readdirSync('/proc').map(Number) : []) {
    const parent = Number(statFields(entry)[1]);
    if (!Number.isNaN(parent)) parents.set(entry, parent);
  }
  // Process 0, which has no entry, is the parent of the first.
  const isInTree = (member: number | undefined): boolean =>
    member === pid || (member !== undefined && isInTree(parents.get(member)));
  return [...parents.keys()].filter(isInTree);
}

/** The fields after the process name, which can itself contain spaces and parentheses. */
function statFields(pid: number): string[] {
  const stat = readProc(`${pid}/stat`);
  return stat.slice(stat.lastIndexOf(')') + 2).split(' ');
}

function readProc(path: string): string {
  try {
    return readFileSync(`/proc/${path}`, 'utf8');
  } catch {
    return '';
  }
}
