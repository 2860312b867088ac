{{- define "ra.image" -}}
{{ .Values.image.repository }}:{{ .Values.image.tag | default .Chart.AppVersion }}
{{- end }}

{{- /* Labels by which a component is selected; of (dict "root" $ "component" "api"). */ -}}
{{- define "ra.labels" -}}
app.kubernetes.io/name: {{ .root.Chart.Name }}
app.kubernetes.io/instance: {{ .root.Release.Name }}
app.kubernetes.io/component: {{ .component }}
{{- end }}

{{- define "ra.podSecurity" -}}
runAsNonRoot: true
runAsUser: 1000
runAsGroup: 1000
seccompProfile: { type: RuntimeDefault }
{{- end }}

{{- define "ra.containerSecurity" -}}
allowPrivilegeEscalation: false
readOnlyRootFilesystem: true
capabilities: { drop: [ALL] }
{{- end }}

{{- /* Environment of a container; of (dict "root" $ "user" "analytics_reader" "key" "reader-password"). */ -}}
{{- define "ra.env" -}}
{{- $values := .root.Values -}}
- name: CLICKHOUSE_URL
  value: {{ required "clickhouse.url is required, such as http://clickhouse:8123" $values.clickhouse.url | quote }}
- name: CLICKHOUSE_DATABASE
  value: {{ $values.clickhouse.database | quote }}
- name: CLICKHOUSE_USER
  value: {{ .user }}
- name: CLICKHOUSE_PASSWORD
  valueFrom: { secretKeyRef: { name: {{ required "existingSecret is required" $values.existingSecret }}, key: {{ .key }} } }
- name: REDIS_URL
  valueFrom: { secretKeyRef: { name: {{ $values.existingSecret }}, key: redis-url } }
- name: COLLECTOR
  value: 'off'
- name: METRICS_PORT
  value: '9464'
{{- range $name, $value := $values.config }}
- name: {{ $name }}
  value: {{ $value | quote }}
{{- end }}
{{- end }}

{{- /* A deployment with its service and disruption budget; of (dict "root" $ "component" … "port" … "user" … "key" … "command" …). */ -}}
{{- define "ra.deployment" -}}
{{- $values := index .root.Values .component -}}
{{- $name := printf "%s-%s" .root.Release.Name .component -}}
apiVersion: apps/v1
kind: Deployment
metadata:
  name: {{ $name }}
  labels: {{- include "ra.labels" . | nindent 4 }}
spec:
  {{- if $values.replicas }}
  replicas: {{ $values.replicas }}
  {{- end }}
  selector:
    matchLabels: {{- include "ra.labels" . | nindent 6 }}
  strategy:
    rollingUpdate: { maxUnavailable: 0, maxSurge: 1 }
  template:
    metadata:
      labels: {{- include "ra.labels" . | nindent 8 }}
    spec:
      automountServiceAccountToken: false
      # A Service named collector would set COLLECTOR_PORT to a URL.
      enableServiceLinks: false
      # SHUTDOWN_DELAY_MS until no new requests come, at most 9.5 s for those under way, and some to spare.
      terminationGracePeriodSeconds: {{ add 18 (div (int .root.Values.config.SHUTDOWN_DELAY_MS) 1000) }}
      topologySpreadConstraints:
        - maxSkew: 1
          topologyKey: kubernetes.io/hostname
          whenUnsatisfiable: ScheduleAnyway
          labelSelector:
            matchLabels: {{- include "ra.labels" . | nindent 14 }}
      securityContext: {{- include "ra.podSecurity" . | nindent 8 }}
      containers:
        - name: {{ .component }}
          image: {{ include "ra.image" .root }}
          imagePullPolicy: {{ .root.Values.image.pullPolicy }}
          {{- with .command }}
          command: {{ toJson . }}
          {{- end }}
          env: {{- include "ra.env" . | nindent 12 }}
          ports:
            - { name: http, containerPort: {{ .port }} }
            {{- if eq .component "collector" }}
            - { name: grpc, containerPort: 4317 }
            {{- end }}
            - { name: metrics, containerPort: 9464 }
          startupProbe:
            httpGet: { path: /health/live, port: http }
            periodSeconds: 1
            failureThreshold: 60
          # Never the store: restarting this does not bring that back.
          livenessProbe:
            httpGet: { path: /health/live, port: http }
            periodSeconds: 10
            timeoutSeconds: 3
            failureThreshold: 3
          readinessProbe:
            httpGet: { path: /health/ready, port: http }
            periodSeconds: 5
            timeoutSeconds: 3
            failureThreshold: 2
          resources: {{- toYaml $values.resources | nindent 12 }}
          securityContext: {{- include "ra.containerSecurity" . | nindent 12 }}
---
apiVersion: v1
kind: Service
metadata:
  name: {{ $name }}
  labels: {{- include "ra.labels" . | nindent 4 }}
spec:
  selector: {{- include "ra.labels" . | nindent 4 }}
  ports:
    - { name: http, port: 80, targetPort: http }
    {{- if eq .component "collector" }}
    - { name: grpc, port: 4317, targetPort: grpc, appProtocol: grpc }
    {{- end }}
    - { name: metrics, port: 9464, targetPort: metrics }
---
apiVersion: policy/v1
kind: PodDisruptionBudget
metadata:
  name: {{ $name }}
spec:
  maxUnavailable: 1
  selector:
    matchLabels: {{- include "ra.labels" . | nindent 6 }}
{{- end }}
