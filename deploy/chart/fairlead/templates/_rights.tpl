{{/* A service account. Call: include "fairlead.account" (list $ "webhook") */}}
{{- define "fairlead.account" -}}
apiVersion: v1
kind: ServiceAccount
metadata:
  {{- include "fairlead.meta" (list (index . 0) (index . 1) (printf "fairlead-%s" (index . 1))) | nindent 2 }}
{{- end }}

{{/* A role across the cluster, and its binding to the component's account.
Call: include "fairlead.clusterrole" (dict "root" $ "name" "webhook" "role" "fairlead-webhook-gated" "rules" "…text…") */}}
{{- define "fairlead.clusterrole" -}}
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata:
  {{- include "fairlead.clustermeta" (list .root .name .role) | nindent 2 }}
rules:
  {{- .rules | nindent 2 }}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata:
  {{- include "fairlead.clustermeta" (list .root .name .role) | nindent 2 }}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: {{ .role }}}
subjects:
  - {kind: ServiceAccount, name: fairlead-{{ .name }}, namespace: {{ .root.Release.Namespace }}}
{{- end }}

{{/* The same within one namespace (`in`; else that of the release). */}}
{{- define "fairlead.role" -}}
{{- $namespace := .in | default .root.Release.Namespace -}}
apiVersion: rbac.authorization.k8s.io/v1
kind: Role
metadata:
  {{- include "fairlead.clustermeta" (list .root .name .role) | nindent 2 }}
  namespace: {{ $namespace }}
rules:
  {{- .rules | nindent 2 }}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata:
  {{- include "fairlead.clustermeta" (list .root .name .role) | nindent 2 }}
  namespace: {{ $namespace }}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: Role, name: {{ .role }}}
subjects:
  - {kind: ServiceAccount, name: fairlead-{{ .name }}, namespace: {{ .root.Release.Namespace }}}
{{- end }}

{{/* The lease of a component, ours so that it goes with the release, and the right to hold it.
Call: include "fairlead.lease" (dict "root" $ "name" "webhook" "lease" "fairlead-webhook" "in" "") */}}
{{- define "fairlead.lease" -}}
apiVersion: coordination.k8s.io/v1
kind: Lease
metadata:
  {{- include "fairlead.clustermeta" (list .root .name .lease) | nindent 2 }}
  namespace: {{ .in | default .root.Release.Namespace }}
{{- end }}

{{- define "fairlead.lease.rules" -}}
- apiGroups: [coordination.k8s.io]
  resources: [leases]
  verbs: [create]
- apiGroups: [coordination.k8s.io]
  resources: [leases]
  resourceNames: [{{ . }}]
  verbs: [get, update]
{{- end }}

{{/* The budget and the switch of all evictions. */}}
{{- define "fairlead.evictions.rules" -}}
- apiGroups: [""]
  resources: [configmaps]
  resourceNames: [{{ index (.Values.configuration.evictions | default dict) "switch" | default "fairlead-evictions" }}]
  verbs: [get, update]
{{- end }}
