// The TypeScript SDK of before 2026-07-28 through the whole sign-in. Arguments: URL, text to store.
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { UnauthorizedError, auth } from '@modelcontextprotocol/sdk/client/auth.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import { ask, tell } from './dialogue.mjs';
import { Provider, text, wanted } from './provider.mjs';

const [url, memory] = process.argv.slice(2);
const provider = new Provider();
const found = {};

async function connected() {
  const transport = new StreamableHTTPClientTransport(new URL(url), { authProvider: provider });
  const client = new Client({ name: 'app', version: '1' });
  try {
    await client.connect(transport);
    return client;
  } catch (error) {
    if (!(error instanceof UnauthorizedError)) throw error;
  }
  await transport.finishAuth((await provider.callback()).get('code'));
  return connected();
}

const client = await connected();
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

// A step-up. It refreshes as long as it can, and a refresh never brings more: so its tokens go first.
const deletion = { memory_ids: ['mem_unknown'], confirmation: 'DELETE' };
const refused = await call('delete_memories', deletion);
found.refused = refused.isError;
const scope = wanted(refused._meta['mcp/www_authenticate'][0]);
provider.invalidateCredentials('tokens');
await auth(provider, { serverUrl: url, scope });
const authorizationCode = (await provider.callback()).get('code');
await auth(provider, { serverUrl: url, authorizationCode, scope });
found.deleted = (await call('delete_memories', deletion)).isError ?? false;

// more, without the client's doing
found.unable = (await call('consolidate_memories', {})).isError;
await ask({ press: 'allow memories:reflect' });
found.batch = text(await call('consolidate_memories', {}));

await client.close();
tell({ ...found, asked: provider.asked });
