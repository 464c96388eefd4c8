// Why a user namespace cannot be created: the reason, and the setting to look at.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { whyNot } from './rootless.ts';

const absent = (): never => {
  throw Object.assign(new Error('no such file'), { code: 'ENOENT' });
};
const said = { stderr: 'unshare: unshare failed: Operation not permitted\n' };

const table: {
  name: string;
  trial: Parameters<typeof whyNot>[0];
  settings: Record<string, string>;
  expected: RegExp;
}[] = [
  {
    name: 'no unshare',
    trial: { error: Object.assign(new Error('spawn'), { code: 'ENOENT' }), stderr: '' },
    settings: {},
    expected: /needs the program unshare, of the package util-linux/,
  },
  {
    name: 'none allowed',
    trial: said,
    settings: { '/proc/sys/user/max_user_namespaces': '0\n' },
    expected:
      /\(unshare: unshare failed: Operation not permitted\): .*user\.max_user_namespaces is 0; .*`sysctl -w user\.max_user_namespaces=15000`/,
  },
  {
    name: "Debian's switch",
    trial: said,
    settings: {
      '/proc/sys/user/max_user_namespaces': '9000',
      '/proc/sys/kernel/unprivileged_userns_clone': '0',
    },
    expected: /kernel\.unprivileged_userns_clone is 0/,
  },
  {
    name: "Ubuntu's AppArmor",
    trial: said,
    settings: { '/proc/sys/kernel/apparmor_restrict_unprivileged_userns': '1\n' },
    expected: /`sysctl -w kernel\.apparmor_restrict_unprivileged_userns=0`/,
  },
  {
    name: 'another reason',
    trial: said,
    settings: { '/proc/sys/user/max_user_namespaces': '9000' },
    expected: /look at the sysctls user\.max_user_namespaces, .*seccomp/,
  },
];
for (const { name, trial, settings, expected } of table) {
  test(`[BYO-5] without user namespaces the error names the setting: ${name}`, () => {
    assert.match(
      whyNot(trial, (path) => settings[path] ?? absent()),
      expected,
    );
  });
}
