// `npm run build [-- DIRECTORY]`: compiles src/ to dist/, the content of the npm package, since Node does not strip types
// below node_modules. Other files are copied.
import { spawnSync } from 'node:child_process';
import { cpSync, rmSync, statSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { projectRoot } from './source-files.ts';

const output = resolve(process.argv[2] ?? join(projectRoot, 'dist'));
rmSync(output, { recursive: true, force: true });
const compiler = join(projectRoot, 'node_modules/typescript/bin/tsc');
// The browser code needs browser types, and so its own configuration.
for (const project of ['tsconfig.build.json', 'tsconfig.page.json']) {
  const { status } = spawnSync(process.execPath, [compiler, '-p', project, '--outDir', output], {
    cwd: projectRoot,
    stdio: 'inherit',
  });
  if (status !== 0) process.exit(1);
}
cpSync(join(projectRoot, 'src'), output, {
  recursive: true,
  filter: (path) => statSync(path).isDirectory() || !/\.ts$|tsconfig\.json$/.test(path),
});
