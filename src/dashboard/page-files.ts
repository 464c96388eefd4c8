// The files of the page: the document, the modules in page/ with types stripped, and two libraries from their packages. No
// bundling, so no build is needed.

import { createHash } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import * as module from 'node:module';
import { fileURLToPath } from 'node:url';

export interface PageFile {
  readonly type: string;
  readonly body: string;
}

const JAVASCRIPT = 'text/javascript; charset=utf-8';
const CSS = 'text/css; charset=utf-8';

/** `.ts` in the source tree, `.js` in the package. */
const SCRIPT = import.meta.url.endsWith('.ts') ? 'ts' : 'js';

const LIBRARIES: Readonly<Record<string, { specifier: string; type: string; file?: string }>> = {
  '/modules/preact.js': { specifier: 'preact', type: JAVASCRIPT },
  '/modules/preact-hooks.js': { specifier: 'preact/hooks', type: JAVASCRIPT },
  '/modules/uplot.js': { specifier: 'uplot', file: 'uPlot.esm.js', type: JAVASCRIPT },
  '/modules/uplot.css': { specifier: 'uplot', file: 'uPlot.min.css', type: CSS },
};

const IMPORTS = JSON.stringify({
  imports: {
    preact: '/modules/preact.js',
    'preact/hooks': '/modules/preact-hooks.js',
    uplot: '/modules/uplot.js',
  },
});

const DOCUMENT = `<!doctype html>
<html lang="en">
  <head>
    <meta charset="utf-8">
    <meta name="viewport" content="width=device-width, initial-scale=1">
    <meta name="color-scheme" content="light dark">
    <title>Berth</title>
    <link rel="icon" href="data:,">
    <link rel="stylesheet" href="/modules/uplot.css">
    <link rel="stylesheet" href="/page/style.css">
    <script type="importmap">${IMPORTS}</script>
    <script type="module" src="/page/main.${SCRIPT}"></script>
  </head>
  <body>
    <div id="page"><noscript>This page needs JavaScript. Without it: berth why pod NAME</noscript></div>
  </body>
</html>
`;

const sha256 = createHash('sha256').update(IMPORTS).digest('base64');

/** Only what comes from here, and no script but the files and that one map. */
export const CONTENT_SECURITY_POLICY = [
  "default-src 'none'",
  `script-src 'self' 'sha256-${sha256}'`,
  "style-src 'self'",
  "connect-src 'self'",
  'img-src data:',
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
].join('; ');

const PAGE_PATH = /^\/page\/((?:[a-z][a-z0-9-]*\/)*[a-z][a-z0-9-]*\.(ts|js|css))$/;

/** Undefined for what is no file of the page. */
export async function pageFile(path: string): Promise<PageFile | undefined> {
  if (path === '/') return { type: 'text/html; charset=utf-8', body: DOCUMENT };
  if (Object.hasOwn(LIBRARIES, path)) return library(path);
  const [, name, extension] = PAGE_PATH.exec(path) ?? [];
  if (name === undefined) return undefined;
  const text = await readIfThere(new URL(`page/${name}`, import.meta.url));
  if (text === undefined) return undefined;
  if (extension === 'css') return { type: CSS, body: text };
  return { type: JAVASCRIPT, body: extension === 'ts' ? withoutTypes(text) : text };
}

async function library(path: string): Promise<PageFile | undefined> {
  const { specifier, file, type } = LIBRARIES[path] ?? { specifier: '', type: '' };
  const main = import.meta.resolve(specifier);
  const body = await readFile(fileURLToPath(file === undefined ? main : new URL(file, main)), 'utf8');
  return { type, body };
}

async function readIfThere(file: URL): Promise<string | undefined> {
  try {
    return await readFile(file, 'utf8');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    throw error;
  }
}

/** Experimental in Node; used only in the source tree, which has its own Node. */
function withoutTypes(text: string): string {
  const { emitWarning } = process;
  process.emitWarning = () => {};
  try {
    return module.stripTypeScriptTypes(text);
  } finally {
    process.emitWarning = emitWarning;
  }
}
