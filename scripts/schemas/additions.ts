// Types and fields that the `kubernetes-types` package lacks: newer ones, removed ones, and those of the volume
// designs. Written in the same declaration language, by module; interfaces merge with the package's.

export const ADDITIONS: Readonly<Record<string, string>> = {
  'core/v1': `
export interface CSIVolumeSource {
    /** volumeHandle names an existing volume. Required for drivers whose lifecycle is persistent, ignored for ephemeral ones. */
    volumeHandle?: string;
    /** controllerPublishSecretRef is the secret, in the pod's namespace, passed to ControllerPublishVolume and ControllerUnpublishVolume. */
    controllerPublishSecretRef?: LocalObjectReference;
    /** nodeStageSecretRef is the secret, in the pod's namespace, passed to NodeStageVolume. */
    nodeStageSecretRef?: LocalObjectReference;
}
export interface Volume {
    /** image is an OCI image or artifact that the kubelet makes available as a volume. */
    image?: ImageVolumeSource;
}
/** ImageVolumeSource is an OCI image used as a volume. */
export interface ImageVolumeSource {
    /** pullPolicy says when the image is pulled: Always, Never or IfNotPresent. */
    pullPolicy?: string;
    /** reference names the image or artifact. */
    reference?: string;
}
export interface PodSpec {
    /** resources is what all containers of the pod request together. */
    resources?: ResourceRequirements;
}
export interface PodStatus {
    /** observedGeneration is the generation this status was computed for. */
    observedGeneration?: number;
}
export interface PodCondition {
    /** observedGeneration is the generation this condition was computed for. */
    observedGeneration?: number;
}
/** ResourceStatus is the health of resources allocated to a container. */
export interface ResourceStatus {
    /** name of the resource. */
    name: string;
    /** resources lists each allocated unit and its health. */
    resources?: Array<ResourceHealth>;
}
/** ResourceHealth is the health of one allocated unit of a resource. */
export interface ResourceHealth {
    /** health is Healthy, Unhealthy or Unknown. */
    health?: string;
    /** resourceID names the unit. */
    resourceID: string;
}
export interface ContainerStatus {
    /** allocatedResourcesStatus is the health of what was allocated. */
    allocatedResourcesStatus?: Array<ResourceStatus>;
}
export interface NodeStatus {
    /** features are what the node's runtime supports. */
    features?: NodeFeatures;
    /** declaredFeatures are the kubelet's optional features that are enabled. */
    declaredFeatures?: Array<string>;
}
/** NodeFeatures says what the node's runtime supports. */
export interface NodeFeatures {
    /** supplementalGroupsPolicy is true when the runtime honours that field. */
    supplementalGroupsPolicy?: boolean;
}
export interface PodSecurityContext {
    /** seLinuxChangePolicy says how the container's SELinux label reaches volumes: MountOption or Recursive. */
    seLinuxChangePolicy?: string;
    /** supplementalGroupsPolicy says how supplemental groups of the first process are calculated: Merge or Strict. */
    supplementalGroupsPolicy?: string;
}
`,
  'storage/v1': `
export interface CSIDriverSpec {
    /** nodeAllocatableUpdatePeriodSeconds is how often the kubelet refreshes the driver's allocatable count on CSINode. */
    nodeAllocatableUpdatePeriodSeconds?: number;
    /** serviceAccountTokenInSecrets passes service account tokens in the secrets field instead of the volume context. */
    serviceAccountTokenInSecrets?: boolean;
    /** lifecycle of inline volumes, persistent or ephemeral: the earlier name of volumeLifecycleModes, mapped to it. */
    lifecycle?: string;
}
export interface VolumeError {
    /** errorCode is the gRPC code of the failed call. */
    errorCode?: number;
}
export interface VolumeAttachmentSource {
    /** inlineVolumeSource is the volume source of a pod's inline volume, with the pod's namespace. */
    inlineVolumeSource?: InlineVolumeSource;
}
/** InlineVolumeSource is a pod's inline volume as it is attached. */
export interface InlineVolumeSource {
    /** namespace of the pod, where secrets are looked up. */
    namespace: string;
    /** volumeSource is copied from the pod; only csi may be set. */
    volumeSource: Volume;
}
/** VolumeAttributesClass names a set of mutable attributes of volumes of one driver. */
export interface VolumeAttributesClass {
    /** APIVersion of this representation. */
    apiVersion?: "storage.k8s.io/v1";
    /** Name of the CSI driver. Immutable. */
    driverName: string;
    /** Kind of this object. */
    kind?: "VolumeAttributesClass";
    /** Standard object's metadata. */
    metadata?: ObjectMeta;
    /** parameters are passed to the driver as they are. Immutable. */
    parameters?: {
        [name: string]: string;
    };
}
import { Volume } from "../core/v1";
`,
  'coordination/v1': `
export interface LeaseSpec {
    /** preferredHolder asks the holder to hand the lease over to this identity. */
    preferredHolder?: string;
    /** strategy says how a leader is picked in coordinated leader election. */
    strategy?: string;
}
`,
  'apps/v1': `
export interface DeploymentStatus {
    /** terminatingReplicas counts pods being terminated. */
    terminatingReplicas?: number;
}
`,
  'apiextensions/v1': `
export interface JSONSchemaProps {
    /** x-kubernetes-embedded-resource says that the value is a whole Kubernetes object. */
    "x-kubernetes-embedded-resource"?: boolean;
    /** x-kubernetes-int-or-string says that the value is an integer or a string. */
    "x-kubernetes-int-or-string"?: boolean;
    /** x-kubernetes-list-map-keys are the fields that identify an element of a list of type map. */
    "x-kubernetes-list-map-keys"?: Array<string>;
    /** x-kubernetes-list-type is atomic, set or map. */
    "x-kubernetes-list-type"?: string;
    /** x-kubernetes-map-type is granular or atomic. */
    "x-kubernetes-map-type"?: string;
    /** x-kubernetes-preserve-unknown-fields keeps fields that the schema does not name. */
    "x-kubernetes-preserve-unknown-fields"?: boolean;
    /** x-kubernetes-validations are rules in the CEL language. */
    "x-kubernetes-validations"?: Array<ValidationRule>;
}
`,
  'policy/v1beta1': `
import { ObjectMeta } from "../meta/v1";
import { SELinuxOptions } from "../core/v1";
/** PodSecurityPolicy governs what pods may ask for. */
export interface PodSecurityPolicy {
    /** APIVersion of this representation. */
    apiVersion?: "policy/v1beta1";
    /** Kind of this object. */
    kind?: "PodSecurityPolicy";
    /** Standard object's metadata. */
    metadata?: ObjectMeta;
    /** spec defines the policy enforced. */
    spec?: PodSecurityPolicySpec;
}
/** PodSecurityPolicySpec defines the policy enforced. */
export interface PodSecurityPolicySpec {
    /** allowPrivilegeEscalation says whether a pod may ask for privilege escalation. */
    allowPrivilegeEscalation?: boolean;
    /** allowedCSIDrivers limits the drivers that a pod may name inline: absent, every driver that volumes lets in; an empty list allows none. */
    allowedCSIDrivers?: Array<AllowedCSIDriver>;
    /** allowedCapabilities may be added by pods. */
    allowedCapabilities?: Array<string>;
    /** allowedFlexVolumes limits the Flexvolume drivers. */
    allowedFlexVolumes?: Array<AllowedFlexVolume>;
    /** allowedHostPaths limits host paths. */
    allowedHostPaths?: Array<AllowedHostPath>;
    /** allowedProcMountTypes limits ProcMountType. */
    allowedProcMountTypes?: Array<string>;
    /** allowedUnsafeSysctls lists unsafe sysctls that are allowed. */
    allowedUnsafeSysctls?: Array<string>;
    /** defaultAddCapabilities are added to every container. */
    defaultAddCapabilities?: Array<string>;
    /** defaultAllowPrivilegeEscalation is the default of that setting. */
    defaultAllowPrivilegeEscalation?: boolean;
    /** forbiddenSysctls lists sysctls that are refused. */
    forbiddenSysctls?: Array<string>;
    /** fsGroup says which fsGroup is allowed. */
    fsGroup: IDStrategyOptions;
    /** hostIPC says whether hostIPC may be used. */
    hostIPC?: boolean;
    /** hostNetwork says whether hostNetwork may be used. */
    hostNetwork?: boolean;
    /** hostPID says whether hostPID may be used. */
    hostPID?: boolean;
    /** hostPorts lists ranges of allowed host ports. */
    hostPorts?: Array<HostPortRange>;
    /** privileged says whether privileged containers are allowed. */
    privileged?: boolean;
    /** readOnlyRootFilesystem forces a read-only root file system. */
    readOnlyRootFilesystem?: boolean;
    /** requiredDropCapabilities are dropped from every container. */
    requiredDropCapabilities?: Array<string>;
    /** runAsGroup says which primary group is allowed. */
    runAsGroup?: IDStrategyOptions;
    /** runAsUser says which user is allowed. */
    runAsUser: IDStrategyOptions;
    /** runtimeClass limits runtime classes. */
    runtimeClass?: RuntimeClassStrategyOptions;
    /** seLinux says which labels are allowed. */
    seLinux: SELinuxStrategyOptions;
    /** supplementalGroups says which groups are allowed. */
    supplementalGroups: IDStrategyOptions;
    /** volumes lists the kinds of volumes allowed; '*' allows all. */
    volumes?: Array<string>;
}
/** AllowedCSIDriver is one inline CSI driver that may be used. */
export interface AllowedCSIDriver {
    /** name of the driver as it is registered. */
    name: string;
}
/** AllowedFlexVolume is one Flexvolume that may be used. */
export interface AllowedFlexVolume {
    /** driver is the name of the Flexvolume driver. */
    driver: string;
}
/** AllowedHostPath is a prefix of host paths that may be used. */
export interface AllowedHostPath {
    /** pathPrefix that a host path must begin with. */
    pathPrefix?: string;
    /** readOnly forces read-only mounts. */
    readOnly?: boolean;
}
/** HostPortRange is a range of host ports. */
export interface HostPortRange {
    /** max is the end of the range, included. */
    max: number;
    /** min is the start of the range, included. */
    min: number;
}
/** IDRange is a range of IDs. */
export interface IDRange {
    /** max is the end of the range, included. */
    max: number;
    /** min is the start of the range, included. */
    min: number;
}
/** IDStrategyOptions says which IDs are allowed. */
export interface IDStrategyOptions {
    /** ranges of allowed IDs. */
    ranges?: Array<IDRange>;
    /** rule is RunAsAny, MustRunAs, MayRunAs or MustRunAsNonRoot. */
    rule?: string;
}
/** SELinuxStrategyOptions says which labels are allowed. */
export interface SELinuxStrategyOptions {
    /** rule is RunAsAny or MustRunAs. */
    rule: string;
    /** seLinuxOptions required to run as. */
    seLinuxOptions?: SELinuxOptions;
}
/** RuntimeClassStrategyOptions limits runtime classes. */
export interface RuntimeClassStrategyOptions {
    /** allowedRuntimeClassNames that pods may name. */
    allowedRuntimeClassNames: Array<string>;
    /** defaultRuntimeClassName is set on pods without one. */
    defaultRuntimeClassName?: string;
}
`,
};
