{{/* Security contexts: a hardened base, and the user's values over it. */}}

{{- define "proxy.podSecurityContext" -}}
{{- $base := dict "runAsNonRoot" true "runAsUser" 65532 "runAsGroup" 65532 "seccompProfile" (dict "type" "RuntimeDefault") -}}
{{- range .Values.controller.service.ports -}}
{{- if lt (int .) 1024 -}}
{{- /* The program has no capability to bind a low port. */ -}}
{{- $_ := set $base "sysctls" (list (dict "name" "net.ipv4.ip_unprivileged_port_start" "value" "0")) -}}
{{- end -}}
{{- end -}}
{{- include "proxy.merge" (dict "base" $base "over" .Values.podSecurityContext) | fromJson | toYaml -}}
{{- end -}}

{{- define "proxy.securityContext" -}}
{{- $base := dict "allowPrivilegeEscalation" false "readOnlyRootFilesystem" true "capabilities" (dict "drop" (list "ALL")) -}}
{{- include "proxy.merge" (dict "base" $base "over" .Values.securityContext) | fromJson | toYaml -}}
{{- end -}}

{{/*
JSON of `base` with `over` merged into it: also false, 0 and empty values win, lists are replaced, null removes. Sprig's mergeOverwrite would keep the base
where the user says false.
*/}}
{{- define "proxy.merge" -}}
{{- $merged := deepCopy .base -}}
{{- range $key, $value := .over -}}
{{- $before := get $merged $key -}}
{{- if kindIs "invalid" $value -}}
{{- $_ := unset $merged $key -}}
{{- else if and (kindIs "map" $value) (kindIs "map" $before) -}}
{{- $_ := set $merged $key (include "proxy.merge" (dict "base" $before "over" $value) | fromJson) -}}
{{- else -}}
{{- $_ := set $merged $key $value -}}
{{- end -}}
{{- end -}}
{{- toJson $merged -}}
{{- end -}}
