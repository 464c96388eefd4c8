// The command that the page shows while there is no volume: a claim of the default class, and a pod that uses it.

const MANIFEST = `apiVersion: v1
kind: PersistentVolumeClaim
metadata: { name: data }
spec:
  accessModes: [ReadWriteOnce]
  resources: { requests: { storage: 1Gi } }
---
apiVersion: v1
kind: Pod
metadata: { name: web }
spec:
  containers:
    - name: web
      image: registry.k8s.io/pause:3.10
      volumeMounts: [{ name: data, mountPath: /data }]
  volumes:
    - name: data
      persistentVolumeClaim: { claimName: data }`;

/** `apply`: the command that applies what it reads from its input. */
export const exampleCommand = (apply: string): string => `${apply} <<'END'\n${MANIFEST}\nEND`;
