// A small MCP server for the suite, spoken by hand so that nothing stands between it and the protocol.
import { createInterface } from 'node:readline';

const write = (m) => process.stdout.write(JSON.stringify({ jsonrpc: '2.0', ...m }) + '\n');
const waiting = new Map();
let next = 1000;

function ask(method, params) {
  const id = ++next;
  write({ id, method, params });
  return new Promise((resolve) => waiting.set(id, resolve));
}

const answers = {
  initialize: (p) => ({ protocolVersion: p.protocolVersion, capabilities: { tools: {}, resources: {} }, serverInfo: { name: 'beside', version: '1' } }),
  ping: () => ({}),
  'tools/list': () => ({ tools: [
    { name: 'echo', description: 'says it again', inputSchema: { type: 'object', properties: { text: { type: 'string' } } }, annotations: { readOnlyHint: true } },
    { name: 'ask', description: 'asks the user', inputSchema: { type: 'object', properties: {} } },
  ] }),
  'tools/call': async (p) => {
    if (p.name === 'ask') {
      const a = await ask('elicitation/create', { message: 'Which colour?', requestedSchema: { type: 'object', properties: { colour: { type: 'string' } } } });
      return { content: [{ type: 'text', text: JSON.stringify(a.result ?? a.error) }] };
    }
    return { content: [{ type: 'text', text: `echo: ${p.arguments.text}` }] };
  },
  'resources/list': () => ({ resources: [] }),
  'resources/read': (p) => ({ contents: [{ uri: p.uri, mimeType: 'text/html', text: '<p>page</p>' }] }),
};

createInterface({ input: process.stdin }).on('line', async (line) => {
  const m = JSON.parse(line);
  if (m.method === undefined) return waiting.get(m.id)?.(m);
  if (m.id === undefined) return undefined;
  const answer = answers[m.method];
  if (!answer) return write({ id: m.id, error: { code: -32601, message: 'unknown' } });
  return write({ id: m.id, result: await answer(m.params ?? {}) });
});
