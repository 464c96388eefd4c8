// `npm run build`: src/ compiled to dist/, which is what the npm package holds, since Node does not strip types below
// node_modules. Files that are not TypeScript are copied along.
import { spawnSync } from 'node:child_process';
import { cpSync, rmSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { projectRoot } from './source-files.ts';

const output = join(projectRoot, 'dist');
rmSync(output, { recursive: true, force: true });
const compiler = join(projectRoot, 'node_modules/typescript/bin/tsc');
// The page has the types of a browser, and so a configuration of its own.
for (const project of ['tsconfig.build.json', 'tsconfig.page.json']) {
  const { status } = spawnSync(process.execPath, [compiler, '-p', project], {
    cwd: projectRoot,
    stdio: 'inherit',
  });
  if (status !== 0) process.exit(1);
}
cpSync(join(projectRoot, 'src'), output, {
  recursive: true,
  filter: (path) => statSync(path).isDirectory() || !/\.ts$|tsconfig\.json$/.test(path),
});
