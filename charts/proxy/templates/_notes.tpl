{{/* What NOTES.txt suggests. */}}

{{/*
JSON of the name and the labels of a namespace that the first of discoveryNamespaceSelectors selects; `default` where there are none. A new namespace has no labels but its
name, so NotIn and DoesNotExist hold by themselves.
*/}}
{{- define "proxy.suggestedNamespace" -}}
{{- $ofName := "kubernetes.io/metadata.name" -}}
{{- $labels := dict -}}
{{- $name := "default" -}}
{{- with .Values.discoveryNamespaceSelectors -}}
{{- $name = "mcp-gateways" -}}
{{- $selector := default dict (first .) -}}
{{- range $selector.matchExpressions -}}
{{- if eq .operator "In" -}}{{- $_ := set $labels .key (first .values) -}}{{- end -}}
{{- if eq .operator "Exists" -}}{{- $_ := set $labels .key "yes" -}}{{- end -}}
{{- end -}}
{{- range $key, $value := $selector.matchLabels -}}{{- $_ := set $labels $key $value -}}{{- end -}}
{{- if hasKey $labels $ofName -}}{{- $name = get $labels $ofName -}}{{- $_ := unset $labels $ofName -}}{{- end -}}
{{- end -}}
{{- $metadata := dict "name" $name -}}
{{- if $labels -}}{{- $_ := set $metadata "labels" $labels -}}{{- end -}}
{{- toJson $metadata -}}
{{- end -}}
