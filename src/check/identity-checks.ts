// Who the driver says it is.

import { driverNameProblem } from '../csi/names/driver-name.ts';
import type { Check } from './check.ts';
import { expect } from './driver-under-test.ts';

export const identityChecks: readonly Check[] = [
  {
    group: 'Identity',
    title: 'it has a name by the rules and a version',
    async run({ identity }) {
      const { name, vendorVersion } = await identity.getPluginInfo({});
      const problem = driverNameProblem(name);
      expect(problem === undefined, `its name ${JSON.stringify(name)} is not allowed: ${problem}`);
      expect(vendorVersion !== '', 'vendor_version is empty');
    },
  },
  {
    group: 'Identity',
    title: 'it answers Probe, and is ready',
    async run({ identity }) {
      const { ready } = await identity.probe({});
      expect(ready !== false, 'Probe says that it is not ready');
    },
  },
  {
    group: 'Identity',
    title: 'it says the same each time it is asked',
    async run({ identity }) {
      const [first, second] = [await identity.getPluginInfo({}), await identity.getPluginInfo({})];
      expect(first.name === second.name, `its name was ${first.name}, then ${second.name}`);
    },
  },
];
