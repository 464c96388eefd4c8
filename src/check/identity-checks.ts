// Checks of the identity service.

import { driverNameProblem } from '../csi/names/driver-name.ts';
import type { Check } from './check.ts';
import { expect } from './driver-under-test.ts';

export const identityChecks: readonly Check[] = [
  {
    group: 'Identity',
    title: 'the name is valid and there is a version',
    section: 'getplugininfo',
    async run({ identity }) {
      const { name, vendorVersion } = await identity.getPluginInfo({});
      const problem = driverNameProblem(name);
      expect(problem === undefined, `the name ${JSON.stringify(name)} is not valid: ${problem}`);
      expect(vendorVersion !== '', 'vendor_version is empty');
    },
  },
  {
    group: 'Identity',
    title: 'Probe succeeds and reports ready',
    section: 'probe',
    async run({ identity }) {
      const { ready } = await identity.probe({});
      expect(ready !== false, 'Probe reports that the driver is not ready');
    },
  },
  {
    group: 'Identity',
    title: 'the name is the same in every answer',
    section: 'getplugininfo',
    async run({ identity }) {
      const [first, second] = [await identity.getPluginInfo({}), await identity.getPluginInfo({})];
      expect(first.name === second.name, `the name was ${first.name}, then ${second.name}`);
    },
  },
];
