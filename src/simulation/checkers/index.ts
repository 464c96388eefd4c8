// The rules that no run may break. Each checker reads the history and nothing else.

import type { World } from '../world.ts';

export function createCheckers(_world: World): void {}
