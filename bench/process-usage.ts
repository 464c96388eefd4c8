// Processor time and memory of any process on this machine, read from /proc; of this process also where there
// is no /proc.
import { readFileSync, writeFileSync } from 'node:fs';

export interface ProcessUsage {
  /** User and system time of all its threads, without its children's. */
  readonly cpuMs: number;
  /** Peak resident memory since `resetPeakMemory`, or since its start. */
  readonly peakMemoryBytes: number;
  /** Resident now. */
  readonly memoryBytes: number;
}

/** The kernel counts processor time in clock ticks, which Linux fixes at 100 a second for user space. */
const MS_PER_TICK = 10;

/** Undefined when there is no such process. */
export function processUsage(pid: number): ProcessUsage | undefined {
  try {
    const status = readFileSync(`/proc/${pid}/status`, 'utf8');
    const bytes = (field: string) =>
      Number(new RegExp(`^${field}:\\s*(\\d+) kB$`, 'm').exec(status)?.[1] ?? Number.NaN) * 1024;
    return {
      cpuMs: pid === process.pid ? ownCpuMs() : cpuMs(pid),
      peakMemoryBytes: bytes('VmHWM'),
      memoryBytes: bytes('VmRSS'),
    };
  } catch {
    return pid === process.pid
      ? {
          cpuMs: ownCpuMs(),
          peakMemoryBytes: process.resourceUsage().maxRSS * 1024,
          memoryBytes: process.memoryUsage.rss(),
        }
      : undefined;
  }
}

function ownCpuMs(): number {
  const { user, system } = process.cpuUsage();
  return (user + system) / 1000;
}

function cpuMs(pid: number): number {
  const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
  // The second field is the program's name in parentheses and may itself hold spaces and parentheses.
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  const [userTicks, systemTicks] = [Number(fields[11]), Number(fields[12])];
  return (userTicks + systemTicks) * MS_PER_TICK;
}

/** Resets the peak, if the kernel allows it. */
export function resetPeakMemory(pid: number): void {
  try {
    writeFileSync(`/proc/${pid}/clear_refs`, '5');
  } catch {
    // Another user's process or no /proc: the peak is then the one since its start.
  }
}
