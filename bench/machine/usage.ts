import { readdirSync, readFileSync } from 'node:fs';

/** USER_HZ, the unit of CPU time in Linux's /proc; 100 in every common kernel build. */
const TICKS_PER_SECOND = 100;

/** CPU seconds used so far by a process and its descendants; null if the system does not report them. */
export function cpuSeconds(pid: number): number | null {
  const ticks = treeOf(pid).map((member) => {
    const [user = 0, system = 0, childUser = 0, childSystem = 0] = statFields(member).slice(11, 15).map(Number);
    return user + system + childUser + childSystem;
  });
  return ticks.length === 0 ? null : ticks.reduce((sum, one) => sum + one, 0) / TICKS_PER_SECOND;
}

/** Resident memory of a process and its descendants, in megabytes. */
export function residentMegabytes(pid: number): number | null {
  return sumOfStatus(pid, 'VmRSS');
}

/** Peak resident memory of a process so far, in megabytes. */
export function peakMegabytes(pid: number): number | null {
  return statusMegabytes(pid, 'VmHWM');
}

function sumOfStatus(pid: number, field: string): number | null {
  const values = treeOf(pid).map((member) => statusMegabytes(member, field) ?? 0);
  return values.length === 0 ? null : values.reduce((sum, one) => sum + one, 0);
}

function statusMegabytes(pid: number, field: string): number | null {
  const match = new RegExp(`^${field}:\\s+(\\d+) kB`, 'm').exec(readProc(`${pid}/status`));
  return match === null ? null : Number(match[1]) / 1024;
}

function treeOf(pid: number): number[] {
  const parents = new Map<number, number>();
  for (const entry of listProc()) {
    const parent = Number(statFields(entry)[1]);
    if (!Number.isNaN(parent)) parents.set(entry, parent);
  }
  const isInTree = (member: number): boolean => member === pid || isInTreeByParent(member);
  const isInTreeByParent = (member: number): boolean => {
    const parent = parents.get(member);
    return parent !== undefined && parent > 1 && isInTree(parent);
  };
  return [...parents.keys()].filter(isInTree);
}

/** The fields after the process name, which can itself contain spaces and parentheses. */
function statFields(pid: number): string[] {
  const stat = readProc(`${pid}/stat`);
  return stat.slice(stat.lastIndexOf(')') + 2).split(' ');
}

function listProc(): number[] {
  try {
    return readdirSync('/proc').map(Number).filter(Number.isInteger);
  } catch {
    return [];
  }
}

function readProc(path: string): string {
  try {
    return readFileSync(`/proc/${path}`, 'utf8');
  } catch {
    return '';
  }
}
