module gateway-api

go 1.26.0

require sigs.k8s.io/gateway-api/conformance v1.6.1

replace sigs.k8s.io/gateway-api => sigs.k8s.io/gateway-api v1.6.1
