// Loaded into a measured process with --import: writes its peak memory and CPU time to the file that BENCH_USAGE names, when it ends.
import { writeFileSync } from 'node:fs';

const file = process.env.BENCH_USAGE;
if (file !== undefined)
  process.on('exit', () => {
    const { maxRSS, userCPUTime, systemCPUTime } = process.resourceUsage();
    writeFileSync(
      file,
      JSON.stringify({ peakBytes: maxRSS * 1024, cpuMs: (userCPUTime + systemCPUTime) / 1000 }),
    );
  });
