import { describe, it } from 'node:test';
import { crashAtEveryStep } from './testing/crash-points.ts';
import { needsRoot } from './testing/hostpath-fixture.ts';

describe('kill -9 before any step of hostpath', { skip: needsRoot }, () => {
  for (const name of ['a raw device', 'an inline volume']) {
    it(`${name}: start-up and the same call again repair everything`, { timeout: 150_000 }, () =>
      crashAtEveryStep(name),
    );
  }
});
