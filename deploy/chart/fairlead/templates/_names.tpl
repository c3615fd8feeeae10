{{/* Labels of every object of a component. Call: include "fairlead.labels" (list $ "webhook") */}}
{{- define "fairlead.labels" -}}
{{- $root := index . 0 -}}
app.kubernetes.io/name: fairlead-{{ index . 1 }}
app.kubernetes.io/part-of: fairlead
app.kubernetes.io/version: {{ $root.Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ $root.Release.Service }}
helm.sh/chart: {{ $root.Chart.Name }}-{{ $root.Chart.Version }}
{{- with $root.Values.labels }}
{{ toYaml . }}
{{- end }}
{{- end }}

{{/* Metadata of an object in the namespace of the release. Call: include "fairlead.meta" (list $ "webhook" "name") */}}
{{- define "fairlead.meta" -}}
{{ include "fairlead.clustermeta" . }}
namespace: {{ (index . 0).Release.Namespace }}
{{- end }}

{{/* Metadata of an object without a namespace. */}}
{{- define "fairlead.clustermeta" -}}
name: {{ index . 2 }}
labels:
  {{- include "fairlead.labels" . | nindent 2 }}
{{- with (index . 0).Values.annotations }}
annotations:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- end }}

{{/* What selects the pods of a component. It is the same in every version: a Deployment's selector cannot change. */}}
{{- define "fairlead.selector" -}}
app.kubernetes.io/name: fairlead-{{ . }}
{{- end }}

{{- define "fairlead.image" -}}
{{- with .Values.image -}}
{{- if .digest -}}
{{ .repository }}@{{ .digest }}
{{- else -}}
{{ .repository }}:{{ .tag | default $.Chart.AppVersion }}
{{- end -}}
{{- end -}}
{{- end }}
