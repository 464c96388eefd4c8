// Buckets of the histograms whose names are a contract.

/** Buckets of `csi_sidecar_operations_seconds` and its siblings, as the official sidecars have them. */
export const CSI_OPERATION_BUCKETS = [0.1, 0.25, 0.5, 1, 2.5, 5, 10, 15, 25, 50, 120, 300, 600];
/** Buckets of the `workqueue_*_seconds` histograms: powers of ten from 10 ns to 10 s. */
export const WORKQUEUE_BUCKETS = [1e-8, 1e-7, 1e-6, 1e-5, 1e-4, 1e-3, 1e-2, 0.1, 1, 10];
