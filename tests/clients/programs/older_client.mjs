// The TypeScript SDK of before 2026-07-28: list, store, find. Arguments: URL, token, text to store.
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';

const [url, token, text] = process.argv.slice(2);
const client = new Client({ name: 'older-client', version: '1' });
const transport = new StreamableHTTPClientTransport(new URL(url), {
  requestInit: { headers: { Authorization: `Bearer ${token}` } },
});
await client.connect(transport);

const { tools } = await client.listTools();
const { resources } = await client.listResources();
const stored = await client.callTool({ name: 'store_memory', arguments: { content: text } });
const found = await client.callTool({ name: 'search_memories', arguments: { query: text } });
const refused = await client
  .callTool({ name: 'search_memories', arguments: { query: '' } })
  .catch((error) => error);
await client.ping();
await client.close();

console.log(
  JSON.stringify({
    tools: tools.map((tool) => tool.name),
    resources: resources.map((resource) => resource.uri),
    stored: stored.structuredContent,
    found: found.structuredContent,
    refused: refused.code,
    version: transport.protocolVersion,
  }),
);
