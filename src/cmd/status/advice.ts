// What to do about each reason that a condition can have. The reasons are those of src/translate/conditions.ts; a test holds the two together.
import type { ConditionSubject } from '../../translate/conditions.ts';

const mendResource =
  'Correct the fields that the message names; kubectl explain and docs/reference have every field with what it may hold.';
const grantReference =
  'Create a ReferenceGrant in the namespace that is referred to, with the kind and namespace of this resource under `from`; or refer to something in its own namespace.';
const mendCertificateAuthority =
  'Put PEM certificates into the entry ca.crt of the ConfigMap or Secret that caCertificateRef names, in the namespace of this resource.';
const findGateway =
  'Look at the Gateway, which says itself why it is not served; mcp-gatehouse status -A shows those of all namespaces.';
const separateListeners = 'Give one of the listeners another port or another hostname, or remove one of them.';
const separateProtocols = 'HTTP and HTTPS cannot share a port: give one of the listeners another port.';
const freePort = 'Choose another port for the listener, or free this one.';
const podsOfGateways = 'kubectl get pods -A -l gateway.networking.k8s.io/gateway-name';
const logsOfGateways = 'kubectl logs -A --previous -l gateway.networking.k8s.io/gateway-name';
const waitForGateway = `Wait a few seconds. If it stays so, see whether the pods of the Gateway run and are Ready: ${podsOfGateways}`;
const catchUpGateway = `The pods that the message names may still enforce an earlier configuration. Their logs say why they cannot reach the controller; a NetworkPolicy may block its port 9978. If it cannot wait, delete these pods: new ones take no traffic before they have the configuration. The pods: ${podsOfGateways}`;
const chooseOneOwner =
  'Two policies set the same field of the same target, and the older one has it. Move what you need into that one, or remove the field from one of the two.';

/** By what carries the condition, then by reason. `Type/Reason` is for a reason that means something else in that condition. */
export const adviceByReason: Readonly<Record<ConditionSubject, Readonly<Record<string, string>>>> = {
  gatewayClass: {
    InvalidParameters:
      'Correct spec.parametersRef of the class: it must name a GatewayParameters that exists and is valid. The chart sets it from gatewayClassParametersRefs.',
    Invalid: mendResource,
    UnsupportedVersion:
      'Most things work with other versions of the Gateway API, and what they do not have is missing. Install the CRDs of v1.6: kubectl apply --server-side -f https://github.com/kubernetes-sigs/gateway-api/releases/download/v1.6.1/standard-install.yaml',
    Pending: 'Wait a few seconds; if it stays so, the controller is not running.',
  },
  gateway: {
    ListenersNotValid: 'None of its listeners can be served; each says below what is wrong with it.',
    ListenersNotResolved: 'Its listeners say below what is missing: most often the Secret of a certificate.',
    Invalid: mendResource,
    'Programmed/Invalid':
      'Nothing is served until one of its listeners is valid. What is wrong with them is said below, or in Accepted.',
    InvalidParameters:
      'Correct infrastructure.parametersRef: it must name a GatewayParameters in the namespace of the Gateway that exists, is valid, and asks for nothing that only parameters of the class may ask for.',
    UnsupportedAddress: 'Use addresses of the type IPAddress, or leave spec.addresses out.',
    AddressNotAssigned:
      'The Service of the Gateway has no address yet. A Service of type LoadBalancer needs something in the cluster that gives addresses; GatewayParameters can choose ClusterIP or NodePort.',
    AddressNotUsable: 'Choose an address that the cluster can give to the Service, or leave spec.addresses out.',
    Pending: 'Wait a few seconds. If it stays so, look at its GatewayClass, and whether the controller runs.',
    'Programmed/Pending': `Correct what the message names. If it only waits, see whether the pods of the Gateway run and are Ready: ${podsOfGateways}`,
    GatewayBehind: catchUpGateway,
    ConfigurationChanged:
      'Set mode to AllowValidOnly as soon as all clients have a certificate: in this mode the certificates protect nothing.',
    ImagePullBackOff:
      'Correct image in the GatewayParameters, or the image of the installation (image.* of the chart); if its name is right, see that the nodes reach the registry and that imagePullSecrets fit.',
    CrashLoopBackOff: `The log of the pods says why they end: ${logsOfGateways}`,
    CreateContainerConfigError:
      'Create what the message names, or correct env and overlays of the GatewayParameters: most often a ConfigMap or a Secret is missing.',
    CreateContainerError: 'Correct what the message names; overlays of the GatewayParameters are the usual cause.',
    Unschedulable:
      'Make room, or add nodes; or lower resources, or widen nodeSelector, tolerations and affinity in the GatewayParameters.',
    FailedCreate:
      'Correct what the message names: most often a ResourceQuota, a LimitRange or an admission webhook of the namespace refuses the pods.',
    ProgressDeadlineExceeded: `See whether the pods of the Gateway run and are Ready, and their events: ${podsOfGateways}`,
    NoResources: 'See the events of its Deployment and pods: kubectl describe gateway, kubectl get events',
  },
  listener: {
    UnsupportedProtocol: 'Set protocol to HTTP or HTTPS.',
    PortUnavailable: freePort,
    HostnameConflict: separateListeners,
    ProtocolConflict: separateProtocols,
    InvalidCertificateRef:
      'Create the Secret that tls.certificateRefs names, of type kubernetes.io/tls, with tls.crt and tls.key that belong together.',
    NoValidCACertificate:
      'Mend the authorities that spec.tls.frontend of the Gateway names; until one of them can be used, nobody is let in.',
    InvalidCACertificateRef:
      'Put PEM certificates into the entry ca.crt of the ConfigMap or Secret that caCertificateRefs names.',
    InvalidCACertificateKind: 'Name a ConfigMap or a Secret in caCertificateRefs, with an empty group.',
    InvalidRouteKinds: 'Remove the other kinds from allowedRoutes.kinds: HTTPRoute is what this gateway serves.',
    RefNotPermitted: grantReference,
    Invalid: 'Its other conditions say what is wrong; the listener is served as soon as they are mended.',
    Pending: waitForGateway,
    GatewayBehind: catchUpGateway,
    OverlappingHostnames:
      'Nothing needs to be done: clients that reuse a connection are told to open another one (421). Separate ports avoid that.',
  },
  routeParent: {
    Unprotected:
      'Attach a ProxyPolicy that authenticates, to the route, its Gateway or each of its backends; or open the route on purpose with traffic.publicAccess: true.',
    PublicAccess: 'Nothing needs to be done: a policy says so. Delete that policy to close the route.',
    NotAllowedByListeners:
      'Let the listener take it: allowedRoutes.namespaces of the Gateway (from: All, or a Selector that selects this namespace), or put the route where the listener allows it.',
    NoMatchingListenerHostname:
      "None of the route's hostnames is one that the listener serves: correct spec.hostnames, or the hostname of the listener.",
    NoMatchingParent:
      'Correct sectionName or port of the parentRef, which fit no listener of the Gateway, or leave them out to attach to all of them.',
    UnsupportedValue: mendResource,
    IncompatibleFilters: 'Remove one of the filters that the message names: they cannot be used in one rule.',
    Shadowed:
      'Choose another path: MCP clients find the login of the policy that the message names at this one, so the gateway answers there before it looks for a route.',
    Pending: findGateway,
    RefNotPermitted: grantReference,
    InvalidKind:
      'Name a Service in backendRefs, or a ProxyBackend (group gateway.proxy). InferencePools can be named where the controller has the Inference Extension on: inferenceExtension.enabled of its chart.',
    BackendNotFound:
      'Create what backendRefs names, or correct its name, namespace and port. If it is a ProxyBackend or an InferencePool that is listed here too, begin there.',
    UnsupportedProtocol:
      'Remove appProtocol from the port of the Service, or set one that this gateway speaks. If it is an InferencePool that is listed here too, begin there.',
    InvalidCACertificateRef: mendCertificateAuthority,
  },
  proxyBackend: {
    Invalid: mendResource,
    RefNotPermitted: grantReference,
    BackendNotFound: 'Create the Service that the target names, or correct its name, namespace and port.',
    UnsupportedProtocol: 'Correct appProtocol of the port of the Service, or remove tls from the target.',
    InvalidCACertificateRef: mendCertificateAuthority,
    TargetsDown:
      'See whether the servers that the message names run, and whether the pods of the Gateway reach them; a NetworkPolicy may be in between. The gateways try again by themselves. The other servers are served meanwhile, but for lists where failureMode is FailClosed.',
  },
  policyAncestor: {
    Invalid: `${mendResource} Until then what it targets is answered with 500.`,
    Conflicted: chooseOneOwner,
    TargetNotFound:
      'What it was to protect may be open. Create what targetRefs names, in the namespace of the policy, or correct kind, name and sectionName.',
    Pending: 'It protects nothing yet: attach what it targets to a Gateway of this controller, or correct targetRefs.',
    Overridden:
      'A policy of the Gateway with enforcement: Override has this field instead. Remove the field here, or ask the people who run the Gateway.',
    PartiallyProgrammed:
      'A policy of the Gateway with enforcement: Override has some of the fields instead; the message names them. The others are in force.',
    WaitingForGateway: waitForGateway,
    GatewayBehind: catchUpGateway,
    KeysUnavailable:
      'The gateways cannot fetch the keys of the identity provider, and answer 503 until they can: see that its URL is right and reachable from their pods. mcp-gatehouse check --online asks it from here.',
    XdsNotEncrypted:
      'Install the controller with TLS for its gateways: helm upgrade with controller.xds.tls.enabled=true and controller.xds.tls.generate=true. Signing keys are not sent without it.',
    Rejected:
      'A gateway cannot use the policy and keeps its targets closed; the message has its words. Correct the policy; if it looks right, gateway and controller may be of different versions.',
  },
  inferencePoolParent: {
    HTTPRouteNotAccepted:
      'Begin with the HTTPRoute that the message names: its own status says why the Gateway does not take it.',
    NotSupportedByParent:
      'Correct or remove what the message names; docs/inference.md lists the annotations of endpoint pickers. Until then the requests are answered with 500.',
    EndpointPickerRefMissing:
      'Name the Service of an endpoint picker and its port in spec.endpointPickerRef: this gateway does not choose endpoints of a pool by itself.',
    InvalidExtensionRef:
      'Create what the message names in the namespace of the pool, or correct spec.endpointPickerRef: a Service that is not of type ExternalName, and one of its ports.',
  },
};

/** What to do about a condition; empty when the reason is not known here. `gateway` is the one that it is about, namespace/name. */
export function findAdvice(subject: ConditionSubject, type: string, reason: string, gateway?: string): string {
  const table = adviceByReason[subject];
  const key = Object.hasOwn(table, `${type}/${reason}`) ? `${type}/${reason}` : reason;
  const advice = Object.hasOwn(table, key) ? table[key]! : '';
  if (gateway === undefined) return advice;
  const [namespace, name] = gateway.split('/');
  const ofGateway = `-n ${namespace} -l gateway.networking.k8s.io/gateway-name=${name}`;
  return advice
    .replace(podsOfGateways, `kubectl get pods ${ofGateway}`)
    .replace(logsOfGateways, `kubectl logs --previous ${ofGateway}`);
}

/** Where to look when the controller is silent. */
export function adviseController(namespace: string): string {
  return `Is the controller running? kubectl get pods -n ${namespace} shows it.`;
}

/** The same for a resource that it may leave out on purpose. */
export function adviseUntouched(namespace: string): string {
  return `${adviseController(namespace)} It leaves out namespaces that its discoveryNamespaceSelectors do not select.`;
}

/** What to do about xDS without TLS. */
export const adviseTls =
  'Set controller.xds.tls.enabled and controller.xds.tls.generate: docs/install.md has the command.';

/** What to install when a kind is not there. */
export const installAdvice = {
  gatewayApi:
    'Install the CRDs of the Gateway API: kubectl apply --server-side -f https://github.com/kubernetes-sigs/gateway-api/releases/download/v1.6.1/standard-install.yaml',
  own: 'Install the CRDs of this gateway: helm install proxy-crds charts/proxy-crds',
  controller:
    'Install the controller, which makes the class: helm install proxy charts/proxy --namespace proxy-system --create-namespace',
} as const;
