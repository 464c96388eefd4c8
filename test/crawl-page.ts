// Loads the dashboard without a browser: the document, and every module and style that it references.

import assert from 'node:assert/strict';

/**
 * `url` is the link with the token. Resolves to all paths that were loaded; fails where one is missing or of a wrong
 * type.
 */
export async function crawlPage(url: string): Promise<string[]> {
  const { origin } = new URL(url);
  const welcome = await fetch(url, { redirect: 'manual' });
  const headers = { cookie: welcome.headers.get('set-cookie')?.split(';')[0] ?? '' };
  const load = async (path: string): Promise<{ text: string; type: string }> => {
    const answer = await fetch(`${origin}${path}`, { headers });
    assert.equal(answer.status, 200, path);
    return { text: await answer.text(), type: answer.headers.get('content-type') ?? '' };
  };
  const { text: document } = await load('/');
  const map = /<script type="importmap">(.*?)<\/script>/.exec(document)?.[1] ?? '{}';
  const { imports } = JSON.parse(map) as { imports: Record<string, string> };
  const toLoad = [...document.matchAll(/(?:src|href)="(\/[^"]+)"/g)].map((match) => match[1] ?? '');
  const loaded = new Set<string>();
  for (let path = toLoad.pop(); path !== undefined; path = toLoad.pop()) {
    if (loaded.has(path)) continue;
    loaded.add(path);
    const { text, type } = await load(path);
    assert.match(type, path.endsWith('.css') ? /^text\/css/ : /^text\/javascript/, path);
    if (!path.startsWith('/page/') || path.endsWith('.css')) continue;
    assert.doesNotMatch(text, /^import type/m, `${path} has no types left`);
    for (const [, specifier = ''] of text.matchAll(/\bfrom ["']([^"']+)["']/g)) {
      const at = specifier.startsWith('.')
        ? new URL(specifier, `${origin}${path}`).pathname
        : imports[specifier];
      assert.ok(at, `${path} imports ${specifier}, which the map does not have`);
      toLoad.push(at);
    }
  }
  return [...loaded];
}
