// `berth support-bundle`: everything that a bug report needs, in one file that only its owner can read. Only reads the cluster.

import { writeFile } from 'node:fs/promises';
import { resolve } from 'node:path';
import { promisify } from 'node:util';
import { gzip } from 'node:zlib';
import { boolFlag, intFlag, stringFlag } from '../runtime/flags/flag.ts';
import { realClock } from '../runtime/time/clock.ts';
import { defineCommand, UsageError } from './command.ts';
import { connectionFlags, namespaceFlags } from './objects/object-flags.ts';
import { openClient } from './objects/open-client.ts';
import { findKubeConfig, readLines } from './objects/read-lines.ts';
import { collectBundle } from './support/collect-bundle.ts';
import { SecretStripper } from './support/strip-secrets.ts';
import { writeTar } from './support/write-tar.ts';
import { packageVersion } from './version.ts';

export const command = defineCommand({
  summary: 'Writes everything that a bug report needs to one file, without secrets',
  description:
    'Versions, the objects of the volume subsystem, events, leases, what `berth why` says, logs and metrics of drivers, sidecars and ' +
    '`berth up`. Works with any cluster and only reads. Secrets and ConfigMaps are not read; values that may be secrets are stripped: ' +
    'parameters of classes, attributes of volumes, environment variables, annotations of others, and whatever has a name like password. ' +
    'Look at the file before you send it.',
  flags: {
    ...connectionFlags,
    ...namespaceFlags,
    output: stringFlag({ help: 'The file; default berth-support-TIME.tar.gz in this directory (also -o)' }),
    o: stringFlag({ help: 'Same as --output', hidden: true }),
    'log-lines': intFlag({ help: 'Lines of each log, the last ones', default: 2_000, min: 1 }),
    'include-parameters': boolFlag({
      help: 'Keep parameters of classes and attributes of volumes, unless their name is that of a secret',
    }),
  },
  async run({ flags, env, log, signal, stdout }) {
    const nowMs = realClock.now();
    const stamp = new Date(nowMs).toISOString().replaceAll(/[:.]/g, '-');
    const name = `berth-support-${stamp}`;
    const output = resolve(flags.output ?? flags.o ?? `${name}.tar.gz`);
    const stripper = new SecretStripper({ keepsParameters: flags.includeParameters });
    const config = await findKubeConfig(flags, env);
    await using client = await openClient({ flags, env, log });
    const { files, unread } = await collectBundle({
      kube: client.kube,
      lines: (path) => readLines(config, { path, what: `answer to ${path.split('?')[0]}`, signal }),
      stripper,
      nowMs,
      namespace: flags.namespace ?? flags.n,
      logLines: flags.logLines,
      signal,
    });
    const about = {
      berth: await packageVersion(),
      node: process.versions.node,
      platform: `${process.platform}/${process.arch}`,
      taken: new Date(nowMs).toISOString(),
      parametersKept: flags.includeParameters,
      unread,
    };
    files.set('about.json', `${JSON.stringify(about, undefined, 1)}\n`);
    const tar = writeTar(
      [...files]
        .toSorted(([a], [b]) => (a < b ? -1 : 1))
        .map(([path, text]) => ({
          path: `${name}/${path}`,
          type: 'file' as const,
          mode: 0o600,
          data: Buffer.from(stripper.finish(text)),
        })),
      Math.floor(nowMs / 1000),
    );
    await write(output, await promisify(gzip)(tar));
    stdout.write(`wrote ${files.size} files to ${output}, readable by you only\n`);
    if (unread.length > 0)
      stdout.write(`${unread.length} things could not be read; about.json says which and why\n`);
    stdout.write('Look at it before you send it.\n');
  },
});

/** Never replaces a file: it may be somebody else's, or an earlier bundle. */
async function write(path: string, content: Buffer): Promise<void> {
  try {
    await writeFile(path, content, { mode: 0o600, flag: 'wx' });
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
    throw new UsageError(`${path} exists; name another file with --output`);
  }
}
