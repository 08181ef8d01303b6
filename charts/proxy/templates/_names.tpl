{{/* Names and labels. Every name is quoted where it is used: `123`, `1e3`, `true` and `null` are names, and numbers or nothing in YAML. */}}

{{/* The name by which labels tell the chart: nameOverride, or that of the chart. */}}
{{- define "proxy.name" -}}
{{- default .Chart.Name .Values.nameOverride -}}
{{- end -}}

{{/*
The name of Deployment, Service and ServiceAccount. Release `proxy`: `proxy`, or `proxy-foo` with nameOverride foo; release R: `R-proxy`, `R-foo`.
Nothing is cut off: two long names would become the same. A name that a Service cannot have is refused in _validation.tpl.
*/}}
{{- define "proxy.fullname" -}}
{{- if .Values.fullnameOverride -}}
{{- .Values.fullnameOverride -}}
{{- else if and (not .Values.nameOverride) (eq .Release.Name .Chart.Name) -}}
{{- .Release.Name -}}
{{- else -}}
{{- printf "%s-%s" .Release.Name (include "proxy.name" .) -}}
{{- end -}}
{{- end -}}

{{/*
The name of a cluster-wide role, from (list $ "reader"): `proxy-reader`, and outside of the namespace proxy-system `proxy-reader.NAMESPACE`. Two installations
in two namespaces have two roles: no other name has a dot in it.
*/}}
{{- define "proxy.clusterRoleName" -}}
{{- $root := index . 0 -}}
{{- $name := printf "%s-%s" (include "proxy.fullname" $root) (index . 1) -}}
{{- if eq $root.Release.Namespace "proxy-system" -}}{{ $name }}{{- else -}}{{ printf "%s.%s" $name $root.Release.Namespace }}{{- end -}}
{{- end -}}

{{/* The Role that reads Secrets in the namespace of somebody else. Two installations may read in one namespace: the name has that of the installation namespace in it. */}}
{{- define "proxy.secretsRoleName" -}}
{{- include "proxy.clusterRoleName" (list . "secrets") -}}
{{- end -}}

{{/* The pod of `helm test`. Its name is also its host name, of at most 63 characters: a long one is cut before the suffix. */}}
{{- define "proxy.testName" -}}
{{- printf "%s-test" (include "proxy.fullname" . | trunc 58 | trimAll "-.") -}}
{{- end -}}

{{- define "proxy.serviceAccountName" -}}
{{- if .Values.serviceAccount.name -}}
{{- .Values.serviceAccount.name -}}
{{- else -}}
{{- ternary (include "proxy.fullname" .) "default" .Values.serviceAccount.create -}}
{{- end -}}
{{- end -}}

{{/* The labels that select the pods of the controller and no others: gateways have the labels of the Gateway API. */}}
{{- define "proxy.selectorLabels" -}}
app.kubernetes.io/name: {{ include "proxy.name" . | quote }}
app.kubernetes.io/instance: {{ .Release.Name | quote }}
app.kubernetes.io/component: controller
{{- end -}}

{{/* The labels that select the pod of `helm test`. */}}
{{- define "proxy.testSelectorLabels" -}}
app.kubernetes.io/name: {{ include "proxy.name" . | quote }}
app.kubernetes.io/instance: {{ .Release.Name | quote }}
app.kubernetes.io/component: test
{{- end -}}

{{/* The labels of an object, with those of the user over them, from (list $ "controller" labels). */}}
{{- define "proxy.labelsWith" -}}
{{- $own := include "proxy.labels" (list (index . 0) (index . 1)) | fromYaml -}}
{{- include "proxy.merge" (dict "base" $own "over" (index . 2)) | fromJson | toYaml -}}
{{- end -}}

{{/* The labels of every object, from (list $ "controller"). */}}
{{- define "proxy.labels" -}}
{{- $root := index . 0 -}}
helm.sh/chart: {{ printf "%s-%s" $root.Chart.Name $root.Chart.Version | replace "+" "_" | trunc 63 | trimSuffix "-" | quote }}
app.kubernetes.io/name: {{ include "proxy.name" $root | quote }}
app.kubernetes.io/instance: {{ $root.Release.Name | quote }}
app.kubernetes.io/component: {{ index . 1 | quote }}
app.kubernetes.io/version: {{ $root.Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ $root.Release.Service | quote }}
{{- end -}}
