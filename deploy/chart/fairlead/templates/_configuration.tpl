{{/* A component's configuration file: the sections that it reads, with what the chart fills in.
Call: include "fairlead.configuration" (dict "root" $ "sections" (dict "webhook" (dict …filled in…))) */}}
{{- define "fairlead.configuration" -}}
apiVersion: fairlead.io/v1alpha1
kind: Configuration
{{- range $name, $filled := .sections }}
{{- $given := index $.root.Values.configuration $name | default dict | deepCopy }}
{{- with mergeOverwrite $given $filled }}
{{ $name }}:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- end }}
{{- end }}

{{- define "fairlead.configuration.webhook" -}}
{{- $namespace := dict "namespace" .Release.Namespace -}}
{{- $webhook := deepCopy $namespace -}}
{{- if ne .Values.webhook.certificate.source "own" -}}
{{- $_ := set $webhook "certificateFolder" "/etc/fairlead-certificate" -}}
{{- end -}}
{{- if .Values.webhook.shadow -}}
{{- $_ := set $webhook "shadow" true -}}
{{- end -}}
{{- $sections := dict "tier" dict "webhook" $webhook "evictions" $namespace "repair" dict -}}
{{- include "fairlead.configuration" (dict "root" . "sections" $sections) -}}
{{- end }}

{{- define "fairlead.configuration.scheduler" -}}
{{- $sections := dict "tier" dict "scheduler" dict "queue" dict "evictions" (dict "namespace" .Release.Namespace) -}}
{{- include "fairlead.configuration" (dict "root" . "sections" $sections) -}}
{{- end }}

{{- define "fairlead.configuration.fleet" -}}
{{- $fleet := dict -}}
{{- if .Values.fleet.shadow -}}
{{- $_ := set $fleet "shadow" true -}}
{{- end -}}
{{- include "fairlead.configuration" (dict "root" . "sections" (dict "fleet" $fleet)) -}}
{{- end }}

{{- define "fairlead.configuration.storage" -}}
{{- $storage := dict "namespace" .Release.Namespace -}}
{{- if .Values.storage.shadow -}}
{{- $_ := set $storage "shadow" true -}}
{{- end -}}
{{- include "fairlead.configuration" (dict "root" . "sections" (dict "storage" $storage)) -}}
{{- end }}

{{/* Whether a setting is on, by its section and name, where its default is false. Gives "true" or nothing. */}}
{{- define "fairlead.on" -}}
{{- $section := index (index . 0).Values.configuration (index . 1) | default dict -}}
{{- if index $section (index . 2) }}true{{ end -}}
{{- end }}

{{/* Whether a setting is not turned off, where its default is true. */}}
{{- define "fairlead.kept" -}}
{{- $section := index (index . 0).Values.configuration (index . 1) | default dict -}}
{{- if ne (toString (index $section (index . 2))) "false" }}true{{ end -}}
{{- end }}
