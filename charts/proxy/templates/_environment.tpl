{{/* The environment of the controller: every variable once, sorted by name. controller.extraEnv wins. */}}
{{- define "proxy.environment" -}}
{{- $ports := .Values.controller.service.ports -}}
{{- $tls := .Values.controller.xds.tls.enabled -}}
{{- $pullSecrets := list -}}
{{- range .Values.imagePullSecrets -}}{{- $pullSecrets = append $pullSecrets .name -}}{{- end -}}
{{- $variables := dict
      "MCP_GATEHOUSE_DISCOVERY_NAMESPACE_SELECTORS" (toJson (default list .Values.discoveryNamespaceSelectors))
      "MCP_GATEHOUSE_GATEWAY_CLASS_PARAMETERS_REFS" (toJson (default dict .Values.gatewayClassParametersRefs))
      "MCP_GATEHOUSE_HEALTH_PORT" (int $ports.health | toString)
      "MCP_GATEHOUSE_IMAGE_PULL_POLICY" .Values.image.pullPolicy
      "MCP_GATEHOUSE_IMAGE_REPOSITORY" "gateway"
      "MCP_GATEHOUSE_IMAGE_TAG" (include "proxy.imageTag" .)
      "MCP_GATEHOUSE_INFERENCE_EXTENSION" (toString .Values.inferenceExtension.enabled)
      "MCP_GATEHOUSE_LOG_FORMAT" "json"
      "MCP_GATEHOUSE_LOG_LEVEL" .Values.controller.logLevel
      "MCP_GATEHOUSE_METRICS_PORT" (int $ports.metrics | toString)
      "MCP_GATEHOUSE_NAMESPACE" (dict "valueFrom" (dict "fieldRef" (dict "fieldPath" "metadata.namespace")))
      "MCP_GATEHOUSE_POD_ADDRESS" (dict "valueFrom" (dict "fieldRef" (dict "fieldPath" "status.podIP")))
      "MCP_GATEHOUSE_POD_NAME" (dict "valueFrom" (dict "fieldRef" (dict "fieldPath" "metadata.name")))
      "MCP_GATEHOUSE_SERVICE_NAME" (include "proxy.fullname" .)
      "MCP_GATEHOUSE_XDS_PORT" (int $ports.proxyGrpc | toString)
      "MCP_GATEHOUSE_XDS_TLS" (toString $tls)
      "MCP_GATEHOUSE_XDS_TOKEN_FILE" "/var/run/secrets/mcp-gateway/token"
-}}
{{- if .Values.image.registry -}}{{- $_ := set $variables "MCP_GATEHOUSE_IMAGE_REGISTRY" .Values.image.registry -}}{{- end -}}
{{- if .Values.image.digest -}}{{- $_ := set $variables "MCP_GATEHOUSE_IMAGE_DIGEST" .Values.image.digest -}}{{- end -}}
{{- if .Values.networkPolicy.enabled -}}{{- $_ := set $variables "MCP_GATEHOUSE_NETWORK_POLICY" (include "proxy.gatewayNetworkPolicy" .) -}}{{- end -}}
{{- with .Values.rbac.secretsInNamespaces -}}{{- $_ := set $variables "MCP_GATEHOUSE_SECRETS_IN_NAMESPACES" (join "," .) -}}{{- end -}}
{{- if $pullSecrets -}}{{- $_ := set $variables "MCP_GATEHOUSE_IMAGE_PULL_SECRETS" (join "," $pullSecrets) -}}{{- end -}}
{{- if .Values.controller.xds.tls.generate -}}{{- $_ := set $variables "MCP_GATEHOUSE_XDS_TLS_GENERATE" "true" -}}
{{- else if $tls -}}{{- $_ := set $variables "MCP_GATEHOUSE_XDS_TLS_FOLDER" "/etc/mcp-gateway/xds-tls" -}}{{- end -}}
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
