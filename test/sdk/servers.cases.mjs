// MCP servers: inside the program, beside it, changed while the session runs.
import assert from 'node:assert/strict';
import { dirname, join } from 'node:path';
import { describe } from 'node:test';
import { fileURLToPath } from 'node:url';
import { createSdkMcpServer, tool } from '@anthropic-ai/claude-agent-sdk';
import { z } from 'zod';
import { real, stage, test, textOf, toolResults } from './stage.mjs';

const here = dirname(fileURLToPath(import.meta.url));
const beside = (name = 'beside') => ({ [name]: { type: 'stdio', command: process.execPath, args: [join(here, 'server.mjs')] } });

function calculator(extra = {}) {
  const calls = [];
  const server = createSdkMcpServer({ name: 'calc', version: '1.0.0', tools: [
    tool('add', 'adds two numbers', { a: z.number(), b: z.number() }, async ({ a, b }) => {
      calls.push([a, b]);
      return { content: [{ type: 'text', text: String(a + b) }] };
    }),
    tool('fail', 'fails', {}, async () => ({ content: [{ type: 'text', text: 'it broke' }], isError: true })),
    tool('throw', 'throws', {}, async () => { throw new Error('thrown'); }),
  ], ...extra });
  return { server, calls };
}

export default () => describe('servers', { concurrency: 4 }, () => {
  test('a tool inside the program is called', async (t) => {
    const s = await stage(t, 'turn\ncall mcp__calc__add {"a":2,"b":40}\nturn\ntext it is {{result}}\n');
    const { server, calls } = calculator();
    const all = await s.ask('go', { mcpServers: { calc: server }, allowedTools: ['mcp__calc__add'] });
    assert.deepEqual(calls, [[2, 40]]);
    assert.match(all.result.result, /^it is 42/);
    assert.ok(all.init.tools.includes('mcp__calc__add'));
    assert.deepEqual(all.init.mcp_servers.map((m) => [m.name, m.status]), [['calc', 'connected']]);
  });

  test('what goes wrong inside it is a result for the model', async (t) => {
    const s = await stage(t, 'turn\ncall mcp__calc__fail {}\nturn\ncall mcp__calc__throw {}\nturn\ntext done\n');
    const all = await s.ask('go', { mcpServers: { calc: calculator().server }, allowedTools: ['mcp__calc'] });
    const results = toolResults(all);
    assert.match(textOf(results[0]), /it broke/);
    assert.match(textOf(results[1]), /thrown/);
    assert.ok(results.every((r) => r.is_error));
    assert.equal(all.result.result, 'done');
  });

  test('tools of servers are asked for', async (t) => {
    const s = await stage(t, 'turn\ncall mcp__calc__add {"a":1,"b":1}\nturn\ntext done\n');
    const { server, calls } = calculator();
    const asked = [];
    await s.ask('go', { mcpServers: { calc: server }, canUseTool: async (name) => {
      asked.push(name);
      return { behavior: 'deny', message: 'no' };
    } });
    assert.deepEqual(asked, ['mcp__calc__add']);
    assert.deepEqual(calls, []);
  });

  test('a server beside the program, its state, and calls without the model', async (t) => {
    const s = await stage(t, 'turn\ncall mcp__beside__echo {"text":"hello"}\nturn\ntext {{result}}\n');
    const talk = s.talk({ mcpServers: beside(), allowedTools: ['mcp__beside'] });
    const result = await talk.exchange('go');
    assert.match(result.result, /echo: hello/);
    const [status] = await talk.query.mcpServerStatus();
    assert.equal(status.name, 'beside');
    assert.equal(status.status, 'connected');
    assert.ok(status.tools.some((x) => x.name === 'echo'));
    assert.equal(status.serverInfo.name, 'beside');
    const page = await talk.query.readMcpResource('beside', 'ui://page');
    assert.equal(page.contents[0].text, '<p>page</p>');
    await assert.rejects(talk.query.readMcpResource('beside', 'file:///etc/passwd'));
    await assert.rejects(talk.query.reconnectMcpServer('nobody'), /Server not found: nobody|nobody/);
    await talk.query.toggleMcpServer('beside', false);
    assert.equal((await talk.query.mcpServerStatus())[0].status, 'disabled');
    await talk.query.toggleMcpServer('beside', true);
    await talk.query.reconnectMcpServer('beside');
    assert.equal((await talk.query.mcpServerStatus())[0].status, 'connected');
    await talk.end();
  });

  test('servers come and go while the session runs', async (t) => {
    const s = await stage(t, 'turn\ntext one\nturn\ncall mcp__calc__add {"a":1,"b":2}\nturn\ntext {{result}}\n');
    const { server, calls } = calculator();
    const talk = s.talk({ allowedTools: ['mcp__calc__add'] });
    await talk.exchange('first');
    const added = await talk.query.setMcpServers({ calc: server });
    assert.deepEqual(added.added, ['calc']);
    assert.deepEqual(added.errors, {});
    const result = await talk.exchange('second');
    assert.deepEqual(calls, [[1, 2]]);
    assert.match(result.result, /^3/);
    assert.deepEqual((await talk.query.setMcpServers({})).removed, ['calc']);
    await talk.end();
  });

  test('a server that does not start is told, and the session goes on', async (t) => {
    const s = await stage(t, 'turn\ntext fine\n');
    const talk = s.talk({ mcpServers: { broken: { type: 'stdio', command: '/no/such/program' } } });
    assert.equal((await talk.exchange('go')).result, 'fine');
    const [status] = await talk.query.mcpServerStatus();
    assert.equal(status.status, 'failed');
    await talk.end();
  });

  test('a server asks the user through the program', async (t) => {
    const s = await stage(t, 'turn\ncall mcp__beside__ask {}\nturn\ntext {{result}}\n');
    const asked = [];
    const all = await s.ask('go', { mcpServers: beside(), allowedTools: ['mcp__beside'], onElicitation: async (request) => {
      asked.push(request);
      return { action: 'accept', content: { colour: 'blue' } };
    } });
    assert.equal(asked[0].serverName, 'beside');
    assert.equal(asked[0].message, 'Which colour?');
    assert.match(all.result.result, /blue/);
  });

  test('only the servers of the program where that is wanted', async (t) => {
    const files = { '.mcp.json': JSON.stringify({ mcpServers: beside('ofproject') }) };
    const names = async (more) => {
      const s = await stage(t, 'turn\ntext ok\n', files);
      return (await s.ask('go', more)).init.mcp_servers.map((m) => m.name);
    };
    assert.deepEqual(await names({ settingSources: ['project'] }), ['ofproject']);
    assert.deepEqual(await names({ settingSources: ['project'], strictMcpConfig: true }), []);
  });

  test('a tool stands for another', { skip: real && 'its model side differs: the other program hides the original' }, async (t) => {
    const s = await stage(t, 'turn\ncall Bash {"a":20,"b":3}\nturn\ntext {{result}}\n');
    const { server, calls } = calculator();
    const all = await s.ask('go', { mcpServers: { calc: server }, allowedTools: ['mcp__calc__add'], toolAliases: { Bash: 'mcp__calc__add' } });
    assert.deepEqual(calls, [[20, 3]]);
    assert.equal(all.result.result, '23');
  });
});
