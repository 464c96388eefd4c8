// What the dashboards show. Every metric has the name that the official sidecars, kubelet and controllers use, so that
// they work for both; test/deploy/monitoring.test.ts checks that Berth's processes have them. Pure.

export interface Panel {
  title: string;
  /** One sentence for who looks at it: what is normal, or what a high value means. */
  says: string;
  unit: 'ops' | 's' | 'short' | 'percentunit' | 'bytes';
  /** PromQL by legend. */
  lines: Readonly<Record<string, string>>;
  /** Only the present value of each series, largest first. */
  isTable?: boolean;
}

export interface Dashboard {
  /** Its file and Grafana's identifier. */
  name: string;
  title: string;
  /** The drop-down lists: by name, the metric and label whose values they have. */
  variables: Readonly<Record<string, readonly [metric: string, label: string]>>;
  rows: Readonly<Record<string, readonly Panel[]>>;
}

const driver = 'driver_name=~"$driver"';
const quantile = (q: number, metric: string, by: string, labels = ''): string =>
  `histogram_quantile(${q}, sum by (le, ${by}) (rate(${metric}_bucket{${labels}}[$__rate_interval])))`;
const rate = (metric: string, by: string, labels = ''): string =>
  `sum by (${by}) (rate(${metric}{${labels}}[$__rate_interval]))`;

const calls: Panel[] = [
  {
    title: 'Calls to the driver',
    says: 'Calls a second that the sidecars made, by method.',
    unit: 'ops',
    lines: { '{{method_name}}': rate('csi_sidecar_operations_seconds_count', 'method_name', driver) },
  },
  {
    title: 'Failed calls',
    says: 'By method and gRPC code. DeadlineExceeded means that the driver is slower than --timeout; the call is repeated.',
    unit: 'ops',
    lines: {
      '{{method_name}} {{grpc_status_code}}': rate(
        'csi_sidecar_operations_seconds_count',
        'method_name, grpc_status_code',
        `${driver}, grpc_status_code!="OK"`,
      ),
    },
  },
  {
    title: 'Duration of calls, 99th percentile',
    says: 'By method.',
    unit: 's',
    lines: { '{{method_name}}': quantile(0.99, 'csi_sidecar_operations_seconds', 'method_name', driver) },
  },
];

const volumes: Panel[] = [
  {
    title: 'Volumes provisioned and deleted',
    says: 'A second, with failures. A failure is retried, so that one volume may fail many times.',
    unit: 'ops',
    lines: {
      provisioned: rate('controller_persistentvolumeclaim_provision_total', 'source'),
      'provisioning failed': rate('controller_persistentvolumeclaim_provision_failed_total', 'source'),
      deleted: `sum (rate(controller_persistentvolume_delete_total[$__rate_interval]))`,
      'deletion failed': `sum (rate(controller_persistentvolume_delete_failed_total[$__rate_interval]))`,
    },
  },
  {
    title: 'Time to provision, by class',
    says: 'Median and 99th percentile of successful attempts.',
    unit: 's',
    lines: {
      '{{class}} p50': quantile(0.5, 'controller_persistentvolumeclaim_provision_duration_seconds', 'class'),
      '{{class}} p99': quantile(0.99, 'controller_persistentvolumeclaim_provision_duration_seconds', 'class'),
    },
  },
  {
    title: 'Snapshot operations',
    says: 'A second, by operation and result.',
    unit: 'ops',
    lines: {
      '{{operation_name}} {{operation_status}}': rate(
        'snapshot_controller_operation_total_seconds_count',
        'operation_name, operation_status',
        driver,
      ),
    },
  },
  {
    title: 'Snapshot operations under way',
    says: 'A number that does not fall is a driver that does not finish.',
    unit: 'short',
    lines: { 'under way': 'sum (snapshot_controller_operations_in_flight)' },
  },
];

const queues: Panel[] = [
  {
    title: 'Waiting for a worker',
    says: 'Objects in the work queues of each process. Above zero for long: more --worker-threads, or a driver that is slow.',
    unit: 'short',
    lines: { '{{job}} {{name}}': 'sum by (job, name) (workqueue_depth)' },
  },
  {
    title: 'Retries',
    says: 'A second. Many mean that something fails again and again: `berth why` lists it.',
    unit: 'ops',
    lines: { '{{job}} {{name}}': rate('workqueue_retries_total', 'job, name') },
  },
  {
    title: 'Longest at work on one object',
    says: 'A call without an answer shows here.',
    unit: 's',
    lines: { '{{job}} {{name}}': 'max by (job, name) (workqueue_longest_running_processor_seconds)' },
  },
  {
    title: 'Starts',
    says: 'Of each process in the last hour.',
    unit: 'short',
    lines: { '{{job}} {{instance}}': 'changes(process_start_time_seconds[1h])' },
  },
];

const claim = 'namespace=~"$namespace"';
const byClaim = '{{namespace}}/{{persistentvolumeclaim}}';
const used: Panel[] = [
  {
    title: 'Fullest volumes',
    says: 'Used share of the space.',
    unit: 'percentunit',
    isTable: true,
    lines: {
      [byClaim]: `topk(20, kubelet_volume_stats_used_bytes{${claim}} / kubelet_volume_stats_capacity_bytes{${claim}})`,
    },
  },
  {
    title: 'Fewest inodes left',
    says: 'Used share of the inodes. A volume without inodes takes no new file, whatever space it has.',
    unit: 'percentunit',
    isTable: true,
    lines: {
      [byClaim]: `topk(20, kubelet_volume_stats_inodes_used{${claim}} / kubelet_volume_stats_inodes{${claim}})`,
    },
  },
  {
    title: 'Unhealthy volumes',
    says: 'Volumes whose driver reports an abnormal condition.',
    unit: 'short',
    isTable: true,
    lines: { [byClaim]: `kubelet_volume_stats_health_status_abnormal{${claim}} > 0` },
  },
  {
    title: 'Space left',
    says: 'In bytes.',
    unit: 'bytes',
    lines: { [byClaim]: `kubelet_volume_stats_available_bytes{${claim}}` },
  },
];

const mounts: Panel[] = [
  {
    title: 'Failed calls on nodes',
    says: 'Staging, publishing and their reversals, by method and gRPC code.',
    unit: 'ops',
    lines: {
      '{{method_name}} {{grpc_status_code}}': rate(
        'csi_operations_seconds_count',
        'method_name, grpc_status_code',
        'method_name=~"/csi.v1.Node/.*", grpc_status_code!="OK"',
      ),
    },
  },
  {
    title: 'Duration of calls on nodes, 99th percentile',
    says: 'A slow NodeStageVolume is a pod that starts late.',
    unit: 's',
    lines: {
      '{{method_name}}': quantile(
        0.99,
        'csi_operations_seconds',
        'method_name',
        'method_name=~"/csi.v1.Node/.*"',
      ),
    },
  },
  {
    title: 'Volume operations',
    says: 'Attach, mount and their reversals as Kubernetes counts them, by result.',
    unit: 'ops',
    lines: {
      '{{operation_name}} {{status}}': rate(
        'storage_operation_duration_seconds_count',
        'operation_name, status',
      ),
    },
  },
  {
    title: 'Volumes wanted and mounted',
    says: 'The difference is at work, or stuck.',
    unit: 'short',
    lines: { '{{state}}': 'sum by (state) (volume_manager_total_volumes)' },
  },
];

export const dashboards: readonly Dashboard[] = [
  {
    name: 'csi-sidecars',
    title: 'CSI sidecars',
    variables: { driver: ['csi_sidecar_operations_seconds_count', 'driver_name'] },
    rows: { 'Calls to the driver': calls, 'Volumes and snapshots': volumes, 'Work queues': queues },
  },
  {
    name: 'csi-volumes',
    title: 'CSI volumes on nodes',
    variables: { namespace: ['kubelet_volume_stats_capacity_bytes', 'namespace'] },
    rows: { 'Space and health': used, 'Attaching and mounting': mounts },
  },
];
