// Runs `berth try` as a process and reads its report.

import { readdirSync } from 'node:fs';
import { BERTH, berth } from './up-process.ts';

interface Line {
  subject?: { driver: string; version: string; capabilities: Record<string, string[]> };
  title?: string;
  state?: string;
  why?: string;
  counts?: Record<string, number>;
}

export async function tried(directory: string, ...args: string[]) {
  const ended = await berth(['try', '-o', 'json', '--size=1Mi', ...args], {
    env: { TMPDIR: directory },
    timeoutMs: 120_000,
  });
  const lines = ended.stdout
    .split('\n')
    .filter(Boolean)
    .map((line) => JSON.parse(line) as Line);
  const steps = new Map(lines.flatMap(({ title, state, why }) => (title ? [[title, { state, why }]] : [])));
  return { ...ended, lines, steps };
}

/** Node keeps compiled code there, too. */
export const leftIn = (directory: string): string[] =>
  readdirSync(directory).filter((name) => name.startsWith('berth'));

/** A command for `--exec`. */
export const hostpath = (state: string, more = ''): string =>
  `exec ${process.execPath} ${BERTH} driver hostpath --driver-name=other.csi.test --endpoint=$CSI_ENDPOINT --node-id=$NODE_ID --state-dir=${state} ${more}`;
