{{/* The ConfigMap and the Deployment of a component. Call: include "fairlead.component" (dict
  "root" $ "name" "webhook" "arguments" (list …) "configuration" "…text, or empty…" "ports" (list …)
  "mounts" (list …) "volumes" (list …) "probed" true "grace" 30 "scratch" (dict …emptyDir…) "account" true) */}}
{{- define "fairlead.component" -}}
{{- $root := .root -}}
{{- $values := index .root.Values .name -}}
{{- $full := printf "fairlead-%s" .name -}}
{{- $mounts := .mounts | default list -}}
{{- $volumes := .volumes | default list -}}
{{- if .configuration }}
{{- $mounts = prepend $mounts (dict "name" "configuration" "mountPath" "/etc/fairlead" "readOnly" true) -}}
{{- $volumes = prepend $volumes (dict "name" "configuration" "configMap" (dict "name" $full)) -}}
apiVersion: v1
kind: ConfigMap
metadata:
  {{- include "fairlead.meta" (list $root .name $full) | nindent 2 }}
data:
  fairlead.yaml: |
    {{- .configuration | nindent 4 }}
---
{{- end }}
{{- $mounts = append $mounts (dict "name" "scratch" "mountPath" "/tmp") -}}
{{- $volumes = append $volumes (dict "name" "scratch" "emptyDir" (.scratch | default (dict "medium" "Memory" "sizeLimit" "16Mi"))) }}
apiVersion: apps/v1
kind: Deployment
metadata:
  {{- include "fairlead.meta" (list $root .name $full) | nindent 2 }}
spec:
  replicas: {{ $values.replicas }}
  selector:
    matchLabels:
      {{- include "fairlead.selector" .name | nindent 6 }}
  template:
    metadata:
      labels:
        {{- include "fairlead.selector" .name | nindent 8 }}
        app.kubernetes.io/part-of: fairlead
        app.kubernetes.io/version: {{ $root.Chart.AppVersion | quote }}
        {{- with $values.podLabels }}
        {{- toYaml . | nindent 8 }}
        {{- end }}
      {{- if or .configuration $values.podAnnotations }}
      annotations:
        {{- with .configuration }}
        # Another configuration is another pod.
        fairlead.io/configuration: {{ . | sha256sum | trunc 16 | quote }}
        {{- end }}
        {{- with $values.podAnnotations }}
        {{- toYaml . | nindent 8 }}
        {{- end }}
      {{- end }}
    spec:
      {{- if .account }}
      serviceAccountName: {{ $full }}
      {{- else }}
      automountServiceAccountToken: false
      {{- end }}
      {{- with $root.Values.image.pullSecrets }}
      imagePullSecrets:
        {{- toYaml . | nindent 8 }}
      {{- end }}
      {{- with $values.priorityClassName }}
      priorityClassName: {{ . }}
      {{- end }}
      terminationGracePeriodSeconds: {{ .grace | default 30 }}
      {{- with $values.nodeSelector }}
      nodeSelector:
        {{- toYaml . | nindent 8 }}
      {{- end }}
      {{- with $values.affinity | default .affinity }}
      affinity:
        {{- toYaml . | nindent 8 }}
      {{- end }}
      {{- with $values.tolerations }}
      tolerations:
        {{- toYaml . | nindent 8 }}
      {{- end }}
      topologySpreadConstraints:
        {{- with $values.topologySpreadConstraints }}
        {{- toYaml . | nindent 8 }}
        {{- else }}
        - maxSkew: 1
          topologyKey: kubernetes.io/hostname
          whenUnsatisfiable: ScheduleAnyway
          labelSelector:
            matchLabels:
              {{- include "fairlead.selector" .name | nindent 14 }}
        {{- end }}
      securityContext:
        runAsNonRoot: true
        runAsUser: 65532
        runAsGroup: 65532
        fsGroup: 65532
        seccompProfile: {type: RuntimeDefault}
      containers:
        - name: {{ .name }}
          image: {{ include "fairlead.image" $root | quote }}
          imagePullPolicy: {{ $root.Values.image.pullPolicy }}
          args:
            {{- toYaml (concat .arguments ($values.extraArguments | default list)) | nindent 12 }}
          {{- if and $root.Values.telemetry.endpoint (has .name (list "webhook" "scheduler" "fleet")) }}
          env:
            - {name: OTEL_EXPORTER_OTLP_ENDPOINT, value: {{ $root.Values.telemetry.endpoint | quote }}}
            - {name: OTEL_TRACES_SAMPLER, value: parentbased_traceidratio}
            - {name: OTEL_TRACES_SAMPLER_ARG, value: {{ $root.Values.telemetry.ratio | quote }}}
            {{- with $root.Values.telemetry.variables }}
            {{- toYaml . | nindent 12 }}
            {{- end }}
          {{- end }}
          {{- with .ports }}
          ports:
            {{- toYaml . | nindent 12 }}
          {{- end }}
          {{- if .probed }}
          readinessProbe:
            httpGet: {path: /readyz, port: health}
            periodSeconds: 2
          livenessProbe:
            httpGet: {path: /healthz, port: health}
            periodSeconds: 10
            failureThreshold: 6
          {{- end }}
          resources:
            {{- toYaml $values.resources | nindent 12 }}
          securityContext:
            allowPrivilegeEscalation: false
            readOnlyRootFilesystem: true
            capabilities: {drop: [ALL]}
          volumeMounts:
            {{- toYaml $mounts | nindent 12 }}
      volumes:
        {{- toYaml $volumes | nindent 8 }}
{{- with $values.podDisruptionBudget }}
{{- /* A budget of one pod alone would hold up every drain of its node. */}}
{{- if and .enabled (gt (int $values.replicas) 1) }}
---
apiVersion: policy/v1
kind: PodDisruptionBudget
metadata:
  {{- include "fairlead.meta" (list $root $.name $full) | nindent 2 }}
spec:
  minAvailable: {{ .minAvailable }}
  selector:
    matchLabels:
      {{- include "fairlead.selector" $.name | nindent 6 }}
{{- end }}
{{- end }}
{{- end }}

{{/* A policy that lets in nothing but health and metrics. Call: include "fairlead.policy" (list $ "scheduler" true) */}}
{{- define "fairlead.policy" -}}
apiVersion: networking.k8s.io/v1
kind: NetworkPolicy
metadata:
  {{- include "fairlead.meta" (list (index . 0) (index . 1) (printf "fairlead-%s" (index . 1))) | nindent 2 }}
spec:
  podSelector:
    matchLabels:
      {{- include "fairlead.selector" (index . 1) | nindent 6 }}
  policyTypes: [Ingress]
  {{- if index . 2 }}
  ingress:
    - ports:
        - {port: health, protocol: TCP}
  {{- else }}
  ingress: []
  {{- end }}
{{- end }}
