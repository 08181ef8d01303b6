{{/* The environment of the controller: every variable once, sorted by name. controller.extraEnv wins. */}}
{{- define "proxy.environment" -}}
{{- $ports := .Values.controller.service.ports -}}
{{- $tls := .Values.controller.xds.tls.enabled -}}
{{- $pullSecrets := list -}}
{{- range .Values.imagePullSecrets -}}{{- $pullSecrets = append $pullSecrets .name -}}{{- end -}}
{{- $variables := dict
      "MCP_GATEWAY_DISCOVERY_NAMESPACE_SELECTORS" (toJson (default list .Values.discoveryNamespaceSelectors))
      "MCP_GATEWAY_GATEWAY_CLASS_PARAMETERS_REFS" (toJson (default dict .Values.gatewayClassParametersRefs))
      "MCP_GATEWAY_HEALTH_PORT" (int $ports.health | toString)
      "MCP_GATEWAY_IMAGE_PULL_POLICY" .Values.image.pullPolicy
      "MCP_GATEWAY_IMAGE_REPOSITORY" "gateway"
      "MCP_GATEWAY_IMAGE_TAG" (include "proxy.imageTag" .)
      "MCP_GATEWAY_INFERENCE_EXTENSION" (toString .Values.inferenceExtension.enabled)
      "MCP_GATEWAY_LOG_FORMAT" "json"
      "MCP_GATEWAY_LOG_LEVEL" .Values.controller.logLevel
      "MCP_GATEWAY_METRICS_PORT" (int $ports.metrics | toString)
      "MCP_GATEWAY_NAMESPACE" (dict "valueFrom" (dict "fieldRef" (dict "fieldPath" "metadata.namespace")))
      "MCP_GATEWAY_POD_ADDRESS" (dict "valueFrom" (dict "fieldRef" (dict "fieldPath" "status.podIP")))
      "MCP_GATEWAY_POD_NAME" (dict "valueFrom" (dict "fieldRef" (dict "fieldPath" "metadata.name")))
      "MCP_GATEWAY_SERVICE_NAME" (include "proxy.fullname" .)
      "MCP_GATEWAY_XDS_PORT" (int $ports.proxyGrpc | toString)
      "MCP_GATEWAY_XDS_TLS" (toString $tls)
      "MCP_GATEWAY_XDS_TOKEN_FILE" "/var/run/secrets/mcp-gateway/token"
-}}
{{- if .Values.image.registry -}}{{- $_ := set $variables "MCP_GATEWAY_IMAGE_REGISTRY" .Values.image.registry -}}{{- end -}}
{{- if $pullSecrets -}}{{- $_ := set $variables "MCP_GATEWAY_IMAGE_PULL_SECRETS" (join "," $pullSecrets) -}}{{- end -}}
{{- if $tls -}}{{- $_ := set $variables "MCP_GATEWAY_XDS_TLS_FOLDER" "/etc/mcp-gateway/xds-tls" -}}{{- end -}}
{{- range $name, $value := .Values.controller.extraEnv -}}
{{- if not (kindIs "invalid" $value) -}}{{- $_ := set $variables $name $value -}}{{- end -}}
{{- end -}}
{{- $entries := list -}}
{{- range $name, $value := $variables -}}
{{- if kindIs "map" $value -}}
{{- $entries = append $entries (dict "name" $name "valueFrom" $value.valueFrom) -}}
{{- else -}}
{{- $entries = append $entries (dict "name" $name "value" (include "proxy.text" $value)) -}}
{{- end -}}
{{- end -}}
{{- toYaml $entries -}}
{{- end -}}

{{/* A scalar as text: 12345678 stays so, which printf would write as 1.2345678e+07. */}}
{{- define "proxy.text" -}}
{{- if kindIs "string" . -}}{{ . }}{{- else -}}{{ toJson . }}{{- end -}}
{{- end -}}
