{{/*
Checks what the schema cannot check, and repeats its most important checks for installations with --skip-schema-validation. Fails with all problems at once.
*/}}
{{- define "proxy.validate" -}}
{{- $problems := list -}}
{{- $fullname := include "proxy.fullname" . -}}
{{- if not (regexMatch "^[a-z]([a-z0-9-]{0,61}[a-z0-9])?$" $fullname) -}}
{{- $problems = append $problems (printf "%q cannot be the name of a Service, which has up to 63 small letters, digits and dashes and begins with a letter; set fullnameOverride" $fullname) -}}
{{- end -}}

{{- $controller := .Values.controller -}}
{{- $levels := list "trace" "debug" "info" "warn" "error" -}}
{{- if not (has $controller.logLevel $levels) -}}
{{- $problems = append $problems (printf "controller.logLevel must be one of %s, not %q" (join ", " $levels) (toString $controller.logLevel)) -}}
{{- end -}}

{{- $ports := $controller.service.ports -}}
{{- $keys := list "proxyGrpc" "health" "metrics" -}}
{{- range $key := $keys -}}
{{- $port := index $ports $key -}}
{{- if or (not (regexMatch "^[0-9]{1,5}$" (include "proxy.text" $port))) (lt (int $port) 1) (gt (int $port) 65535) -}}
{{- $problems = append $problems (printf "controller.service.ports.%s must be a port number between 1 and 65535, not %s" $key (toJson $port)) -}}
{{- end -}}
{{- end -}}
{{- range $i, $left := $keys -}}
{{- range $j, $right := $keys -}}
{{- if and (lt $i $j) (eq (int (index $ports $left)) (int (index $ports $right))) -}}
{{- $problems = append $problems (printf "controller.service.ports.%s and controller.service.ports.%s are both %d: each needs a port of its own" $left $right (int (index $ports $left))) -}}
{{- end -}}
{{- end -}}
{{- end -}}

{{- $types := list "ClusterIP" "NodePort" "LoadBalancer" -}}
{{- if not (has $controller.service.type $types) -}}
{{- $problems = append $problems (printf "controller.service.type must be one of %s, not %q" (join ", " $types) (toString $controller.service.type)) -}}
{{- end -}}

{{- $policies := list "Always" "IfNotPresent" "Never" -}}
{{- if not (has .Values.image.pullPolicy $policies) -}}
{{- $problems = append $problems (printf "image.pullPolicy must be one of %s, not %q" (join ", " $policies) (toString .Values.image.pullPolicy)) -}}
{{- end -}}
{{- if not (has (default "Always" $controller.image.pullPolicy) $policies) -}}
{{- $problems = append $problems (printf "controller.image.pullPolicy must be empty or one of %s, not %q" (join ", " $policies) (toString $controller.image.pullPolicy)) -}}
{{- end -}}

{{- if and $controller.xds.tls.generate (not $controller.xds.tls.enabled) -}}
{{- $problems = append $problems "controller.xds.tls.generate goes with controller.xds.tls.enabled: without TLS there is no certificate to make" -}}
{{- end -}}

{{- range $key, $digest := dict "image.digest" .Values.image.digest "controller.image.digest" $controller.image.digest -}}
{{- if not (regexMatch "^(sha256:[a-f0-9]{64})?$" (toString $digest)) -}}
{{- $problems = append $problems (printf "%s must be sha256: and 64 hexadecimal digits, not %q" $key (toString $digest)) -}}
{{- end -}}
{{- end -}}

{{- $reserved := dict
      "app.kubernetes.io/name" "select the controller's pods"
      "app.kubernetes.io/instance" "select the controller's pods"
      "app.kubernetes.io/component" "select the controller's pods"
      "app.kubernetes.io/managed-by" "mark the objects of gateways"
      "gateway.networking.k8s.io/gateway-name" "select the pods of gateways"
      "gateway.networking.k8s.io/gateway-class-name" "select the pods of gateways" -}}
{{- range $label, $_ := .Values.podLabels -}}
{{- with get $reserved $label -}}
{{- $problems = append $problems (printf "podLabels must not have %s: such labels %s" $label .) -}}
{{- end -}}
{{- end -}}

{{- if .Values.networkPolicy.enabled -}}
{{- if not .Values.networkPolicy.apiServer.ports -}}
{{- $problems = append $problems "networkPolicy.apiServer.ports must have a port: the controller needs the API server" -}}
{{- end -}}
{{- range $key := list "clients" "metrics" "upstreams" -}}
{{- range $index, $peer := index $.Values.networkPolicy $key -}}
{{- if and (get (default dict $peer) "ipBlock") (or (hasKey $peer "podSelector") (hasKey $peer "namespaceSelector")) -}}
{{- $problems = append $problems (printf "networkPolicy.%s[%d] must have ipBlock or selectors, not both" $key $index) -}}
{{- end -}}
{{- if and (hasKey $peer "podSelector") (not (hasKey $peer "namespaceSelector")) -}}
{{- $problems = append $problems (printf "networkPolicy.%s[%d] needs a namespaceSelector beside its podSelector: {} is every namespace" $key $index) -}}
{{- end -}}
{{- end -}}
{{- end -}}
{{- end -}}

{{- range $index, $namespace := .Values.rbac.secretsInNamespaces -}}
{{- if not (regexMatch "^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$" (toString $namespace)) -}}
{{- $problems = append $problems (printf "rbac.secretsInNamespaces[%d] must be the name of a namespace, not %q" $index (toString $namespace)) -}}
{{- end -}}
{{- end -}}
{{- if ne (len (default list .Values.rbac.secretsInNamespaces)) (len (uniq (default list .Values.rbac.secretsInNamespaces))) -}}
{{- $problems = append $problems "rbac.secretsInNamespaces names a namespace twice" -}}
{{- end -}}

{{- /* Without a cluster, as in `helm template`, there are versions and no kinds among the capabilities. */ -}}
{{- if and (.Capabilities.APIVersions.Has "v1/Pod") (not (.Capabilities.APIVersions.Has "monitoring.coreos.com/v1")) -}}
{{- range $key := list "serviceMonitor" "prometheusRule" -}}
{{- if (index $.Values $key).enabled -}}
{{- $problems = append $problems (printf "%s.enabled needs the CRDs of the Prometheus operator (monitoring.coreos.com/v1), and the cluster does not have them; install them first, or leave it false" $key) -}}
{{- end -}}
{{- end -}}
{{- end -}}

{{- if not (regexMatch "^[0-9]+$" (include "proxy.text" $controller.replicaCount)) -}}
{{- $problems = append $problems (printf "controller.replicaCount must be a whole number of at least 0, not %s" (toJson $controller.replicaCount)) -}}
{{- end -}}

{{- range $name, $value := $controller.extraEnv -}}
{{- if or (kindIs "slice" $value) (and (kindIs "map" $value) (not (hasKey (default dict $value) "valueFrom"))) -}}
{{- $problems = append $problems (printf "controller.extraEnv.%s must be text, a number, true, false, or {valueFrom: ...}" $name) -}}
{{- end -}}
{{- end -}}

{{- with $controller.podDisruptionBudget -}}
{{- $hasMin := not (kindIs "invalid" .minAvailable) -}}
{{- $hasMax := not (kindIs "invalid" .maxUnavailable) -}}
{{- if eq $hasMin $hasMax -}}
{{- $problems = append $problems (printf "controller.podDisruptionBudget needs either minAvailable or maxUnavailable, and has %s" (ternary "both" "neither" $hasMin)) -}}
{{- end -}}
{{- end -}}

{{- $strategy := default dict $controller.strategy -}}
{{- if and (eq (toString $strategy.type) "Recreate") $strategy.rollingUpdate -}}
{{- $problems = append $problems "controller.strategy.rollingUpdate goes with type RollingUpdate, not with Recreate" -}}
{{- end -}}

{{- range $class, $reference := .Values.gatewayClassParametersRefs -}}
{{- if ne $class "proxy" -}}
{{- $problems = append $problems (printf "gatewayClassParametersRefs.%s: the only class of this controller is proxy" $class) -}}
{{- else -}}
{{- range list "name" "namespace" -}}
{{- if not (get (default dict $reference) .) -}}
{{- $problems = append $problems (printf "gatewayClassParametersRefs.proxy.%s is required: the reference needs the name and the namespace of the GatewayParameters" .) -}}
{{- end -}}
{{- end -}}
{{- end -}}
{{- end -}}

{{- range $index, $selector := .Values.discoveryNamespaceSelectors -}}
{{- range $at, $expression := (default dict $selector).matchExpressions -}}
{{- $place := printf "discoveryNamespaceSelectors[%d].matchExpressions[%d]" $index $at -}}
{{- if has $expression.operator (list "In" "NotIn") -}}
{{- if not $expression.values -}}
{{- $problems = append $problems (printf "%s: %s needs values" $place $expression.operator) -}}
{{- end -}}
{{- else if $expression.values -}}
{{- $problems = append $problems (printf "%s: %s takes no values" $place (toString $expression.operator)) -}}
{{- end -}}
{{- end -}}
{{- end -}}

{{- range $index, $secret := .Values.imagePullSecrets -}}
{{- if or (not (kindIs "map" $secret)) (not (get (default dict $secret) "name")) -}}
{{- $problems = append $problems (printf "imagePullSecrets[%d] must be {name: ...}" $index) -}}
{{- end -}}
{{- end -}}

{{- if $problems -}}
{{- fail (printf "\n\nThe chart cannot be installed with these values:\n- %s\n" (join "\n- " $problems)) -}}
{{- end -}}
{{- end -}}
