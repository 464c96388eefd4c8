// `berth version`: the versions of Berth and Node.
import { readFile } from 'node:fs/promises';
import { boolFlag } from '../runtime/flags/flag.ts';
import { defineCommand } from './command.ts';

/** The version in package.json, two levels above src/cli and dist/cli. */
export async function packageVersion(): Promise<string> {
  const text = await readFile(new URL('../../package.json', import.meta.url), 'utf8');
  return (JSON.parse(text) as { version: string }).version;
}

export const command = defineCommand({
  summary: 'Prints the version',
  flags: { json: boolFlag({ help: 'Print JSON' }) },
  async run({ flags, stdout }) {
    const about = {
      version: await packageVersion(),
      node: process.versions.node,
      platform: `${process.platform}/${process.arch}`,
    };
    stdout.write(
      flags.json
        ? `${JSON.stringify(about)}\n`
        : `berth ${about.version} (Node ${about.node}, ${about.platform})\n`,
    );
  },
});
