{{- define "egotools.selector" -}}
app.kubernetes.io/name: egotools
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end }}
{{- define "egotools.labels" -}}
{{ include "egotools.selector" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
{{- end }}
{{- define "egotools.restricted" -}}
allowPrivilegeEscalation: false
readOnlyRootFilesystem: true
capabilities: {drop: [ALL]}
{{- end }}
