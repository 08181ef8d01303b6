module inference-extension

go 1.26.0

require (
	sigs.k8s.io/gateway-api-inference-extension v1.6.0
	sigs.k8s.io/gateway-api-inference-extension/conformance v1.6.0
)
