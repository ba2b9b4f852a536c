// A client that knows OAuth and nothing of MCP, and takes nothing that a specification forbids:
// oauth4webapi. Arguments: URL, how it authenticates.
import * as oauth from 'oauth4webapi';
import { ask, tell } from './dialogue.mjs';

const [url, method] = process.argv.slice(2);
const insecure = { [oauth.allowInsecureRequests]: true }; // http on this computer
const found = {};

async function challenge(token) {
  try {
    await call(token, 'ping');
  } catch (error) {
    if (error instanceof oauth.WWWAuthenticateChallengeError) return error.cause[0];
    throw error;
  }
}

async function call(token, rpcMethod, params) {
  const headers = new Headers({ 'content-type': 'application/json' });
  const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method: rpcMethod, params });
  const response = await oauth.protectedResourceRequest(
    token, 'POST', new URL(url), headers, body, insecure,
  );
  return (await response.json()).result;
}

// discovery: the resource, then its server, by both spellings
found.challenged = (await challenge('mat_wrong')).parameters.error;
const resource = await oauth.processResourceDiscoveryResponse(
  new URL(url), await oauth.resourceDiscoveryRequest(new URL(url), insecure),
);
const issuer = new URL(resource.authorization_servers[0]);
const server = await oauth.processDiscoveryResponse(
  issuer, await oauth.discoveryRequest(issuer, { algorithm: 'oauth2', ...insecure }),
);
const openid = await oauth.processDiscoveryResponse(
  issuer, await oauth.discoveryRequest(issuer, { algorithm: 'oidc', ...insecure }),
);
found.same = openid.token_endpoint === server.token_endpoint;

// registration
const redirectUri = 'http://127.0.0.1:9999/callback';
const keys = await oauth.generateKeyPair('ES256', { extractable: true });
const jwk = { ...(await crypto.subtle.exportKey('jwk', keys.publicKey)), kid: 'one' };
const client = await oauth.processDynamicClientRegistrationResponse(
  await oauth.dynamicClientRegistrationRequest(
    server,
    {
      client_name: 'Stranger',
      redirect_uris: [redirectUri],
      grant_types: ['authorization_code', 'refresh_token'],
      token_endpoint_auth_method: method,
      ...(method === 'private_key_jwt' ? { jwks: { keys: [jwk] } } : {}),
    },
    insecure,
  ),
);
const proof = {
  none: () => oauth.None(),
  client_secret_post: () => oauth.ClientSecretPost(client.client_secret),
  client_secret_basic: () => oauth.ClientSecretBasic(client.client_secret),
  private_key_jwt: () => oauth.PrivateKeyJwt({ key: keys.privateKey, kid: 'one' }),
}[method]();

// authorization
async function authorized(scope) {
  const verifier = oauth.generateRandomCodeVerifier();
  const state = oauth.generateRandomState();
  const link = new URL(server.authorization_endpoint);
  const asked = {
    client_id: client.client_id,
    redirect_uri: redirectUri,
    response_type: 'code',
    scope,
    state,
    code_challenge: await oauth.calculatePKCECodeChallenge(verifier),
    code_challenge_method: 'S256',
    resource: resource.resource,
  };
  for (const [name, value] of Object.entries(asked)) link.searchParams.set(name, value);
  const back = new URL(await ask({ authorize: link.href }));
  const answer = oauth.validateAuthResponse(server, client, back, state); // the issuer, too
  return oauth.processAuthorizationCodeResponse(
    server,
    client,
    await oauth.authorizationCodeGrantRequest(server, client, proof, answer, redirectUri, verifier, {
      additionalParameters: { resource: resource.resource },
      ...insecure,
    }),
  );
}

const tokens = await authorized('memories:read memories:write');
found.scope = tokens.scope;
const stored = { name: 'store_memory', arguments: { content: 'A stranger was here.' } };
found.stored = (await call(tokens.access_token, 'tools/call', stored)).structuredContent.status;

// refreshing, after time has passed
await ask({ expire: true });
found.expired = (await challenge(tokens.access_token)).parameters.error;
const newer = await oauth.processRefreshTokenResponse(
  server,
  client,
  await oauth.refreshTokenGrantRequest(server, client, proof, tokens.refresh_token, insecure),
);
found.rotated = newer.refresh_token !== tokens.refresh_token;
const wanted = { name: 'search_memories', arguments: { query: 'stranger' } };
const hits = await call(newer.access_token, 'tools/call', wanted);
found.texts = hits.structuredContent.memories.map((memory) => memory.text);

// a step-up by the 403 of a resource that was taken away
await ask({ press: 'stop memories:read' });
const reading = { uri: 'memory://vault/recent' };
try {
  await call(newer.access_token, 'resources/read', reading);
} catch (error) {
  found.lacking = error.cause[0].parameters.error;
  found.needed = error.cause[0].parameters.scope;
}
const wider = await authorized(found.needed);
const recent = await call(wider.access_token, 'resources/read', reading);
found.recent = recent.contents[0].text;

// giving it back
await oauth.processRevocationResponse(
  await oauth.revocationRequest(server, client, proof, wider.refresh_token, insecure),
);
found.revoked = (await challenge(wider.access_token)).parameters.error;

tell(found);
