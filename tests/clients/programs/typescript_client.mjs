// The official TypeScript client, in one of its modes: list, store, find, and be refused.
// Arguments: URL, token, mode (auto, legacy, or a revision to pin), text to store.
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';

const [url, token, mode, text] = process.argv.slice(2);
const negotiation = { mode: ['auto', 'legacy'].includes(mode) ? mode : { pin: mode } };
const client = new Client(
  { name: 'typescript-client', version: '1' },
  { versionNegotiation: negotiation },
);
const transport = new StreamableHTTPClientTransport(new URL(url), {
  requestInit: { headers: { Authorization: `Bearer ${token}` } },
});
await client.connect(transport);

const { tools } = await client.listTools();
const { resources } = await client.listResources();
const { prompts } = await client.listPrompts();
const stored = await client.callTool({ name: 'store_memory', arguments: { content: text } });
const found = await client.callTool({ name: 'search_memories', arguments: { query: text } });
const recent = await client.readResource({ uri: 'memory://vault/recent' });
const refused = await client
  .callTool({ name: 'search_memories', arguments: { query: '' } })
  .catch((error) => error);
const forbidden = await client.callTool({
  name: 'forget_all_memories',
  arguments: { confirmation: 'DELETE ALL MEMORIES' },
});
const version = client.getNegotiatedProtocolVersion();
await client.close();

console.log(
  JSON.stringify({
    tools: tools.map((tool) => tool.name),
    resources: resources.map((resource) => resource.uri),
    prompts: prompts.length,
    stored: stored.structuredContent,
    found: found.structuredContent,
    recent: recent.contents[0].text,
    refused: refused.code,
    forbidden: { isError: forbidden.isError, meta: forbidden._meta },
    version,
  }),
);
