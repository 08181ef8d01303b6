{{/* The image of the controller: its own settings, then those of all components, then the appVersion. A digest stands in place of the tag. */}}
{{- define "proxy.controllerImage" -}}
{{- $own := .Values.controller.image -}}
{{- $registry := default .Values.image.registry $own.registry -}}
{{- $tag := default (include "proxy.imageTag" .) $own.tag -}}
{{- $version := ternary (printf "@%s" $own.digest) (printf ":%s" $tag) (not (empty $own.digest)) -}}
{{- printf "%s%s%s" (ternary "" (printf "%s/" $registry) (empty $registry)) $own.repository $version -}}
{{- end -}}

{{- define "proxy.controllerPullPolicy" -}}
{{- default .Values.image.pullPolicy .Values.controller.image.pullPolicy -}}
{{- end -}}

{{/* The tag of all components. */}}
{{- define "proxy.imageTag" -}}
{{- default .Chart.AppVersion .Values.image.tag -}}
{{- end -}}
