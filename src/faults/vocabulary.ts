// The faults of CSI calls: the simulation draws them at random, `berth fault` and scenarios name them. One table for both.

export const CSI_FAULTS = [
  'csi-lost-before',
  'csi-lost-after',
  'csi-duplicated',
  'csi-refused',
  'csi-slow',
  'csi-past-deadline',
  'csi-crash-before',
  'csi-crash-after',
] as const;

export type CsiFault = (typeof CSI_FAULTS)[number];

/** How each is written after the name of a call, and what it does. Crashes are written before it. */
export const FAULT_WORDS: Readonly<Record<CsiFault, { usage: string; does: string }>> = {
  'csi-lost-before': {
    usage: 'CALL lose-request [silently]',
    does: 'the driver is not called; the caller gets UNAVAILABLE, or silently: nothing until its deadline',
  },
  'csi-lost-after': {
    usage: 'CALL lose-answer [silently]',
    does: 'the driver acts and its answer is lost; the caller gets UNAVAILABLE, or silently: nothing until its deadline',
  },
  'csi-duplicated': {
    usage: 'CALL duplicate',
    does: 'the driver gets the call twice at once; the caller gets the first answer',
  },
  'csi-refused': { usage: 'CALL fail CODE', does: 'the driver is not called; the caller gets the code' },
  'csi-slow': { usage: 'CALL delay DURATION', does: 'the driver acts at once; its answer is held' },
  'csi-past-deadline': {
    usage: 'CALL delay past-deadline',
    does: "the driver acts; its answer is held until the caller's deadline has passed",
  },
  'csi-crash-before': {
    usage: 'crash COMPONENT before CALL',
    does: 'the component dies before the driver is called, and is started again',
  },
  'csi-crash-after': {
    usage: 'crash COMPONENT after CALL',
    does: 'the component dies once the driver has acted, and is started again',
  },
};
