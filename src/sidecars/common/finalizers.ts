// Where sidecars look for it: the one who puts finalizers on and off is in src/runtime, since the control plane needs it
// too.

export { addFinalizer, hasFinalizer, removeFinalizer } from '../../runtime/kube/finalizers.ts';
