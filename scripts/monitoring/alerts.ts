// When to call somebody. Each alert has a heading of its name in docs/troubleshooting.md, which says what to do. Pure.

export interface Alert {
  name: string;
  expression: string;
  /** How long it must hold. */
  for: string;
  severity: 'warning' | 'critical';
  summary: string;
}

const failing = (metric: string, labels: string, by: string): string =>
  `sum by (${by}) (rate(${metric}{${labels}}[15m]))`;

export const alerts: readonly Alert[] = [
  {
    name: 'CSICallsFail',
    expression:
      `${failing('csi_sidecar_operations_seconds_count', 'grpc_status_code!="OK"', 'driver_name, method_name')}\n` +
      `  / sum by (driver_name, method_name) (rate(csi_sidecar_operations_seconds_count[15m])) > 0.5`,
    for: '15m',
    severity: 'warning',
    summary: 'More than half of the calls of {{ $labels.method_name }} to {{ $labels.driver_name }} fail.',
  },
  {
    name: 'CSICallsHang',
    expression: 'max by (namespace, job, pod, name) (workqueue_longest_running_processor_seconds) > 900',
    for: '5m',
    severity: 'warning',
    summary:
      'The queue {{ $labels.name }} of {{ $labels.job }} has been at work on one object for more than 15 minutes.',
  },
  {
    name: 'VolumeProvisioningFails',
    expression:
      'sum by (class) (increase(controller_persistentvolumeclaim_provision_failed_total[30m])) > 0\n' +
      '  unless sum by (class) (increase(controller_persistentvolumeclaim_provision_total[30m])) > 0',
    for: '15m',
    severity: 'critical',
    summary:
      'Volumes of the class {{ $labels.class }} could not be provisioned for half an hour, and none could.',
  },
  {
    name: 'VolumeDeletionFails',
    expression:
      'sum by (class) (increase(controller_persistentvolume_delete_failed_total[1h])) > 0\n' +
      '  unless sum by (class) (increase(controller_persistentvolume_delete_total[1h])) > 0',
    for: '1h',
    severity: 'warning',
    summary:
      'Volumes of the class {{ $labels.class }} could not be deleted for an hour: their storage is still in use.',
  },
  {
    name: 'SnapshotsFail',
    expression: `${failing('snapshot_controller_operation_total_seconds_count', 'operation_status!="success"', 'driver_name, operation_name')} > 0`,
    for: '30m',
    severity: 'warning',
    summary: '{{ $labels.operation_name }} of {{ $labels.driver_name }} fails.',
  },
  {
    name: 'VolumeMountsFail',
    expression: `${failing('csi_operations_seconds_count', 'method_name=~"/csi.v1.Node/.*(Stage|Publish)Volume", grpc_status_code!="OK"', 'instance, driver_name, method_name')} > 0`,
    for: '15m',
    severity: 'warning',
    summary: '{{ $labels.method_name }} fails on {{ $labels.instance }}: pods there wait for their volumes.',
  },
  {
    name: 'VolumeNearlyFull',
    expression: 'kubelet_volume_stats_available_bytes / kubelet_volume_stats_capacity_bytes < 0.05',
    for: '5m',
    severity: 'critical',
    summary:
      'Less than 5 % of the space of {{ $labels.namespace }}/{{ $labels.persistentvolumeclaim }} is left.',
  },
  {
    name: 'VolumeInodesNearlyUsed',
    expression: 'kubelet_volume_stats_inodes_free / kubelet_volume_stats_inodes < 0.05',
    for: '5m',
    severity: 'warning',
    summary:
      'Less than 5 % of the inodes of {{ $labels.namespace }}/{{ $labels.persistentvolumeclaim }} are left.',
  },
  {
    name: 'VolumeUnhealthy',
    expression: 'kubelet_volume_stats_health_status_abnormal > 0',
    for: '5m',
    severity: 'critical',
    summary: 'The driver reports {{ $labels.namespace }}/{{ $labels.persistentvolumeclaim }} as abnormal.',
  },
  {
    name: 'CSISidecarRestarts',
    expression:
      'changes(process_start_time_seconds[30m]) > 3\n' +
      '  and on (job, instance) count by (job, instance) (csi_sidecar_operations_seconds_count)',
    for: '5m',
    severity: 'warning',
    summary: '{{ $labels.job }} on {{ $labels.instance }} was started more than three times in half an hour.',
  },
];
