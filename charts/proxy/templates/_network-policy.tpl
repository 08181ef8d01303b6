{{/* NetworkPolicies: what the policy of the controller and those of gateways have in common. */}}

{{/* JSON for the controller: with what it deploys a NetworkPolicy for each gateway. */}}
{{- define "proxy.gatewayNetworkPolicy" -}}
{{- $policy := .Values.networkPolicy -}}
{{- toJson (dict
      "controller" (include "proxy.selectorLabels" . | fromYaml)
      "clients" (default list $policy.clients)
      "metrics" (default list $policy.metrics)
      "upstreams" (default list $policy.upstreams)) -}}
{{- end -}}

{{/* DNS: inside and outside of the cluster, on nodes, and on the port of the DNS pods of OpenShift. */}}
{{- define "proxy.dnsPorts" -}}
{{- range $port := list 53 5353 }}
{{- range $protocol := list "UDP" "TCP" }}
- port: {{ $port }}
  protocol: {{ $protocol }}
{{- end }}
{{- end }}
{{- end -}}
