// The flags that the commands on objects share, named as in kubectl. The parser treats a short name as a separate flag;
// `either` reads the two as one.

import { boolFlag, stringFlag } from '../../runtime/flags/flag.ts';

export const connectionFlags = {
  kubeconfig: stringFlag({
    help: 'Kubeconfig file; without it KUBECONFIG, then that of `berth up`',
    group: 'Server',
  }),
  context: stringFlag({ help: 'Context of the kubeconfig to use', group: 'Server' }),
};

export const namespaceFlags = {
  namespace: stringFlag({ help: 'Namespace of the objects (also -n)' }),
  n: stringFlag({ help: 'Same as --namespace', hidden: true }),
};

export const selectionFlags = {
  ...namespaceFlags,
  'all-namespaces': boolFlag({ help: 'Objects of all namespaces (also -A)' }),
  A: boolFlag({ help: 'Same as --all-namespaces', hidden: true }),
  selector: stringFlag({ help: 'Only objects with these labels, for example app=db (also -l)' }),
  l: stringFlag({ help: 'Same as --selector', hidden: true }),
};

export const fileFlags = {
  filename: stringFlag({ help: 'File or directory of manifests, or - for standard input (also -f)' }),
  f: stringFlag({ help: 'Same as --filename', hidden: true }),
};
