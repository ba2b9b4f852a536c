// The official TypeScript client through the whole sign-in. Arguments: URL, mode, text to store.
import {
  Client,
  StreamableHTTPClientTransport,
  UnauthorizedError,
  auth,
} from '@modelcontextprotocol/client';
import { ask, tell } from './dialogue.mjs';
import { Provider, text, wanted } from './provider.mjs';

const [url, mode, memory] = process.argv.slice(2);
const provider = new Provider();
const found = {};

async function connected() {
  const transport = new StreamableHTTPClientTransport(new URL(url), { authProvider: provider });
  const client = new Client({ name: 'app', version: '1' }, { versionNegotiation: { mode } });
  try {
    await client.connect(transport);
    return { client, transport };
  } catch (error) {
    if (!(error instanceof UnauthorizedError)) throw error;
  }
  await transport.finishAuth(await provider.callback());
  return connected();
}

const { client, transport } = await connected();
const call = (name, args) => client.callTool({ name, arguments: args });
const search = async () => text(await call('search_memories', { query: memory }));

found.tools = (await client.listTools()).tools.length;
await call('store_memory', { content: memory });
found.first = await search();

const before = provider.held;
await ask({ expire: true });
found.refreshed = await search();
found.rotated =
  before.access_token !== provider.held.access_token &&
  before.refresh_token !== provider.held.refresh_token;

// a step-up by the challenge in a tool's result
const deletion = { memory_ids: ['mem_unknown'], confirmation: 'DELETE' };
const refused = await call('delete_memories', deletion);
found.refused = refused.isError;
const [challenge] = refused._meta['mcp/www_authenticate'];
const scope = wanted(challenge);
await auth(provider, { serverUrl: url, scope, forceReauthorization: true });
const back = await provider.callback();
await auth(provider, {
  serverUrl: url,
  authorizationCode: back.get('code'),
  iss: back.get('iss'),
  scope,
});
found.deleted = (await call('delete_memories', deletion)).isError ?? false;

// A step-up by the 403 of a resource, which the transport sees to. It believes what it was granted
// once, so at first it refreshes and is told that there is less; then it asks.
await ask({ press: 'stop memories:read' });
const read = () => client.readResource({ uri: 'memory://vault/recent' });
found.forbidden = (await read().catch((error) => error)).data?.status;
const unauthorized = await read().catch((error) => error);
if (!(unauthorized instanceof UnauthorizedError)) throw unauthorized;
await transport.finishAuth(await provider.callback());
found.recent = (await read()).contents[0].text;

// more, without the client's doing
found.unable = (await call('consolidate_memories', {})).isError;
await ask({ press: 'allow memories:reflect' });
found.batch = text(await call('consolidate_memories', {}));

await client.close();
tell({ ...found, asked: provider.asked });
