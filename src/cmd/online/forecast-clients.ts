// What MCP clients of each known kind will do with a policy. Kept beside the table in the documentation of login flows.
import type { Discovery } from '../../gateway/authentication/login/idp/discover-metadata.ts';
import type { FlowChoice } from '../../gateway/config/idp-connection.ts';
import type { McpAuthenticationConfig } from '../../gateway/config/protected-resource.ts';
import { findRegistrationEndpoint } from '../../gateway/authentication/login/idp/registration-endpoint.ts';
import type { ClientForecast, Mark } from './online-report.ts';

type FoundDiscovery = Extract<Discovery, { readonly ok: true }>;
type Forecast = readonly [mark: Mark, text: string];

/** One line per kind of client. */
export function forecastClients(
  config: McpAuthenticationConfig,
  flow: FlowChoice,
  discovery: FoundDiscovery,
): ClientForecast[] {
  const forecast = {
    Broker: forecastBroker,
    // To clients it is the same.
    Issuer: forecastBroker,
    Facade: forecastFacade,
    Direct: forecastDirect,
  }[flow.flow];
  return Object.entries(forecast(config, discovery)).map(([family, [mark, text]]) => ({ family, mark, text }));
}

type Families = Readonly<Record<'SDK v1' | 'SDK v2' | 'in a browser' | 'with CIMD', Forecast>>;

function forecastBroker(config: McpAuthenticationConfig, { metadata }: FoundDiscovery): Families {
  const endpoint = findRegistrationEndpoint(config, metadata);
  const takesDocuments = config.message.clientIdMetadataDocuments;
  const isShared = endpoint === 'shared';
  const registers: Forecast =
    endpoint === undefined
      ? ['bad', 'cannot register: the identity provider takes no registrations. Use registration.mode Shared']
      : ['good', `registers and logs in through the gateway${isShared ? ', after its consent page' : ''}`];
  const works = endpoint !== undefined;
  return {
    'SDK v1': registers,
    'SDK v2': works ? ['good', 'the same; issuer and iss are the gateway in every step'] : registers,
    'in a browser': works ? ['good', 'the same; the gateway answers CORS'] : registers,
    'with CIMD': !takesDocuments
      ? ['remark', 'registers like the others: clientIdMetadataDocuments is off']
      : works
        ? [
            'good',
            `needs no registration: its client_id is its metadata document${isShared ? '' : ', registered at the identity provider once'}${config.message.clientIdMetadataAlways ? '' : '; registers like the others while the gateway cannot fetch it'}`,
          ]
        : registers,
  };
}

/** Newer clients insist on it (MCP, Authorization Code Protection). */
const lacksPkce: Forecast = [
  'bad',
  'stops: the metadata of the identity provider does not list S256. Broker would help',
];

function forecastFacade(config: McpAuthenticationConfig, { metadata, emitsIssuer }: FoundDiscovery): Families {
  const { preset } = config;
  const endpoint = findRegistrationEndpoint(config, metadata);
  const refused: Forecast = ['bad', 'cannot register: the identity provider takes no registrations'];
  const works: Forecast = ['good', 'registers at the gateway, logs in at the identity provider'];
  const own: Forecast = endpoint === undefined ? refused : works;
  const offersDocuments = metadata['client_id_metadata_document_supported'] === true;
  if (emitsIssuer) {
    // Clients with a document are as new as SDK v2, and so is the code of pages.
    const stops: Forecast = ['bad', 'stops after the login: iss is not the issuer of the metadata. Use Broker'];
    return { 'SDK v1': own, 'SDK v2': stops, 'in a browser': stops, 'with CIMD': stops };
  }
  const hasPkce = metadata.code_challenge_methods_supported?.includes('S256') === true || preset.supportsPkce === true;
  if (endpoint !== undefined && !hasPkce)
    return { 'SDK v1': own, 'SDK v2': lacksPkce, 'in a browser': lacksPkce, 'with CIMD': lacksPkce };
  return {
    'SDK v1': own,
    'SDK v2': own,
    'in a browser':
      endpoint === undefined
        ? refused
        : ['remark', 'the same, if the token endpoint of the identity provider answers CORS; Broker would'],
    'with CIMD': offersDocuments
      ? ['good', 'needs no registration: the identity provider takes metadata documents']
      : own,
  };
}

function forecastDirect(_config: McpAuthenticationConfig, { metadata }: FoundDiscovery): Families {
  const offersDocuments = metadata['client_id_metadata_document_supported'] === true;
  const hasPkce = metadata.code_challenge_methods_supported?.includes('S256') === true;
  const own: Forecast =
    metadata.registration_endpoint === undefined
      ? ['bad', 'needs a client id of its own: the identity provider takes no registrations. Broker would help']
      : ['good', 'registers and logs in at the identity provider, if that takes anonymous registrations'];
  const inBrowser: Forecast =
    own[0] === 'bad' ? own : ['remark', 'the same, if all endpoints of the identity provider answer CORS'];
  return {
    'SDK v1': own,
    'SDK v2': hasPkce ? own : lacksPkce,
    'in a browser': hasPkce ? inBrowser : lacksPkce,
    'with CIMD': !hasPkce
      ? lacksPkce
      : offersDocuments
        ? ['good', 'needs no registration: the identity provider takes metadata documents']
        : own,
  };
}
