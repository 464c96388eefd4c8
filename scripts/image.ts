// `npm run image`: Berth's container images as an OCI layout, from the npm packages of the lock file and Debian's
// packages. Needs apt and dpkg, neither a container daemon nor root. The same version, commit and Debian packages give
// the same bytes. docs/image.md says what is in the images.

import { execFileSync, spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, relative } from 'node:path';
import { parseArgs } from 'node:util';
import { applicationFiles, nodeFiles, nodePackage, npmPackages } from './image/application-files.ts';
import { type DebianPackage, fetchPackages } from './image/debian-packages.ts';
import {
  architecture,
  file,
  type Image,
  type Layer,
  withDirectories,
  writeLayout,
} from './image/oci-layout.ts';
import { sbom } from './image/sbom.ts';
import { type TarFile, writeTar } from './image/tar.ts';
import { projectRoot } from './source-files.ts';

const USAGE = `Usage: npm run image [-- --output DIRECTORY] [--root-fs FILE]

Writes an OCI image layout with two images, berth:VERSION and berth:VERSION-hostpath (with mkfs, mount and the like,
for the hostpath driver), and beside it the same as one archive and the bill of materials of each.

  --output DIRECTORY  default: image/berth-VERSION
  --root-fs FILE      only the files of the second image, as a tar file; for the Dockerfile
`;

const NOBODY = '65532';
/** As in Debian since 12: links into /usr. */
const SKELETON_LINKS = ['bin', 'sbin', 'lib', 'lib64'];
/** What the node binary is linked to. */
const FOR_NODE = { complete: ['libstdc++6'], alone: [] };
/** xfsprogs alone, because Python and ICU, which it depends on, are for xfs_scrub only. What mkfs.xfs is linked to is named. */
const FOR_HOSTPATH = {
  complete: ['coreutils', 'e2fsprogs', 'mount', 'libblkid1', 'libedit2', 'libinih1', 'liburcu8', 'libuuid1'],
  alone: ['xfsprogs'],
};

const { values } = parseArgs({
  options: { output: { type: 'string' }, 'root-fs': { type: 'string' }, help: { type: 'boolean' } },
});
if (values.help) {
  process.stdout.write(USAGE);
  process.exit(0);
}

const { version, license, repository } = JSON.parse(readFileSync(join(projectRoot, 'package.json'), 'utf8'));
const say = (text: string): void => void process.stderr.write(`${text}\n`);
const seconds = sourceTime();

say('compiling');
const compiled = mkdtempSync(join(tmpdir(), 'berth-dist-'));
process.once('exit', () => rmSync(compiled, { recursive: true, force: true }));
const build = spawnSync(process.execPath, [join(projectRoot, 'scripts/build.ts'), compiled], {
  stdio: 'inherit',
});
if (build.status !== 0) process.exit(1);
say("fetching Debian's packages");
const needed = fetchPackages(FOR_NODE);
const tools = fetchPackages(FOR_HOSTPATH).filter(({ name }) => !needed.some((each) => each.name === name));

const base: Layer = {
  comment: 'Debian libraries and Node.js',
  files: [...skeleton(), ...filesOf(needed), ...nodeFiles()],
};
const program: Layer = { comment: `Berth ${version}`, files: applicationFiles(compiled) };
const toolbox: Layer = { comment: 'file system tools', files: filesOf(tools) };

const plain = image(`berth:${version}`, [base, program], needed, NOBODY);
const hostpath = image(`berth:${version}-hostpath`, [base, program, toolbox], [...needed, ...tools], '0');

if (values['root-fs']) {
  const files = hostpath.image.layers.flatMap((layer) => layer.files);
  writeFileSync(values['root-fs'], writeTar(withDirectories(files), seconds));
  say(`wrote ${values['root-fs']}`);
  process.exit(0);
}

const output = values.output ?? join(projectRoot, 'image', `berth-${version}`);
say('packing');
const sizes = writeLayout(output, [plain.image, hostpath.image], seconds);
for (const {
  image: { name },
  bill,
} of [plain, hostpath]) {
  writeFileSync(`${output}.${name.split(':')[1]}.spdx.json`, bill);
  say(`${name} for ${architecture}: ${((sizes.get(name) ?? 0) / 1e6).toFixed(1)} MB compressed`);
}
const shown = relative(process.cwd(), output) || output;
say(`wrote ${shown}/ and ${shown}.tar; next: ctr images import ${shown}.tar, or podman load -i ${shown}.tar`);

function image(
  name: string,
  layers: readonly Layer[],
  debian: readonly DebianPackage[],
  user: string,
): { image: Image; bill: string } {
  const npm = [nodePackage(), ...npmPackages()];
  const bill = `${JSON.stringify(sbom({ name, version, npm, debian, seconds }), undefined, 2)}\n`;
  const described: Layer = {
    comment: 'bill of materials',
    files: [file('usr/share/berth/sbom.spdx.json', bill)],
  };
  const labels = {
    'org.opencontainers.image.title': 'berth',
    'org.opencontainers.image.version': version as string,
    'org.opencontainers.image.licenses': license as string,
    'org.opencontainers.image.created': new Date(seconds * 1000).toISOString(),
    ...(repository?.url && { 'org.opencontainers.image.source': repository.url as string }),
  };
  return { image: { name, layers: [...layers, described], user, labels }, bill };
}

/** With the control files, by which scanners know what is installed. */
function filesOf(packages: readonly DebianPackage[]): TarFile[] {
  return packages.flatMap(({ name, control, files }) => [
    ...files,
    file(`var/lib/dpkg/status.d/${name}`, control),
  ]);
}

function skeleton(): TarFile[] {
  const users = [
    'root:x:0:0:root:/root:/sbin/nologin\n',
    `nonroot:x:${NOBODY}:${NOBODY}:nonroot:/home/nonroot:/sbin/nologin\n`,
  ].join('');
  return [
    ...SKELETON_LINKS.map((path): TarFile => ({ path, type: 'symlink', mode: 0o777, target: `usr/${path}` })),
    ...SKELETON_LINKS.map((path): TarFile => ({ path: `usr/${path}`, type: 'directory', mode: 0o755 })),
    ...['dev', 'proc', 'sys', 'run', 'root', 'home/nonroot', 'var/lib'].map(
      (path): TarFile => ({ path, type: 'directory', mode: 0o755 }),
    ),
    { path: 'tmp', type: 'directory', mode: 0o1777 },
    file('etc/passwd', users),
    file('etc/group', `root:x:0:\nnonroot:x:${NOBODY}:\n`),
    file('etc/os-release', readFileSync('/etc/os-release')),
  ];
}

/** When the source was made, which every file in the image shows: of the commit, unless SOURCE_DATE_EPOCH says. */
function sourceTime(): number {
  const given = process.env.SOURCE_DATE_EPOCH;
  if (given !== undefined) {
    if (!/^\d+$/.test(given)) throw new Error(`SOURCE_DATE_EPOCH must be seconds since 1970, got "${given}"`);
    return Number(given);
  }
  try {
    return Number(execFileSync('git', ['log', '-1', '--format=%ct'], { cwd: projectRoot, stdio: 'pipe' }));
  } catch {
    throw new Error('there is no git history to take the time of the source from; set SOURCE_DATE_EPOCH');
  }
}
