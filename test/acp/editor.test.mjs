// What the editor does for gofer: files that are open in it, terminals; and what a client may do wrong.
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { existsSync, writeFileSync } from 'node:fs';
import { test } from 'node:test';
import { Editor, methods, place } from './editor.mjs';

test('files as the editor has them', { concurrency: true }, async (t) => {
  const p = await place(t, `
turn
  call Read {"file_path": "a.txt"}
turn
  call Edit {"file_path": "a.txt", "old_string": "typed", "new_string": "changed"}
turn
  call Write {"file_path": "b.txt", "content": "new\\n"}
turn
  text Done.
`, { 'a.txt': 'saved\n' });
  const buffers = { [p.file('a.txt')]: 'typed, not saved\n' };
  const writes = [];
  const e = await Editor.start(t, p, {
    capabilities: { fs: { readTextFile: true, writeTextFile: true } },
    args: ['--permission-mode', 'acceptEdits'],
    on: {
      [methods.client.fs.readTextFile]: ({ params }) => {
        if (!(params.path in buffers)) throw new Error('not open');
        return { content: buffers[params.path] };
      },
      [methods.client.fs.writeTextFile]: ({ params }) => {
        writes.push([params.path, params.content]);
        buffers[params.path] = params.content;
        writeFileSync(params.path, params.content);
        return {};
      },
    },
  });
  const id = await e.open();
  assert.equal((await e.prompt(id, 'go')).stopReason, 'end_turn');
  assert.match(JSON.stringify(e.of('tool_call_update')[1].content ?? e.of('tool_call_update')[2].content), /typed, not saved/);
  assert.deepEqual(writes, [[p.file('a.txt'), 'changed, not saved\n'], [p.file('b.txt'), 'new\n']]);
  assert.equal(p.read('a.txt'), 'changed, not saved\n');
});

// Terminals of an editor: real processes.
function terminals() {
  const open = new Map();
  const seen = { created: [], killed: 0, released: 0 };
  return {
    seen,
    on: {
      [methods.client.terminal.create]: ({ params }) => {
        const id = `term-${open.size + 1}`;
        const env = { ...process.env, ...Object.fromEntries((params.env ?? []).map((v) => [v.name, v.value])) };
        const child = spawn(params.command, params.args, { cwd: params.cwd, env, stdio: ['ignore', 'pipe', 'pipe'], detached: true });
        const term = { child, output: '', exit: null };
        child.stdout.on('data', (d) => (term.output += d));
        child.stderr.on('data', (d) => (term.output += d));
        term.done = new Promise((resolve) => child.on('close', (exitCode, signal) => resolve((term.exit = { exitCode, signal }))));
        open.set(id, term);
        seen.created.push(params);
        return { terminalId: id };
      },
      [methods.client.terminal.output]: ({ params }) => {
        const term = open.get(params.terminalId);
        return { output: term.output, truncated: false, exitStatus: term.exit };
      },
      [methods.client.terminal.waitForExit]: ({ params }) => open.get(params.terminalId).done,
      [methods.client.terminal.kill]: async ({ params }) => {
        seen.killed++;
        process.kill(-open.get(params.terminalId).child.pid, 'SIGKILL');
        await open.get(params.terminalId).done;
        return {};
      },
      [methods.client.terminal.release]: () => (seen.released++, {}),
    },
  };
}

test('commands in the terminals of the editor', { concurrency: true }, async (t) => {
  const p = await place(t, `
turn
  call Bash as toolu_one {"command": "mkdir sub && cd sub && echo out; echo err >&2; exit 3"}
turn
  call Bash {"command": "basename $PWD"}
turn
  call Bash {"command": "touch begun; sleep 600"}
turn
  text Done.
`);
  const terms = terminals();
  const e = await Editor.start(t, p, { capabilities: { terminal: true }, args: ['--allowedTools', 'Bash'], on: terms.on });
  const id = await e.open();
  const waits = e.until((u) => u.sessionUpdate === 'tool_call_update' && u.content?.[0]?.type === 'terminal' && u.content[0].terminalId === 'term-3');
  const answer = e.prompt(id, 'go');
  await waits;
  await e.agent.notify(methods.agent.session.cancel, { sessionId: id });
  assert.equal((await answer).stopReason, 'cancelled');
  assert.deepEqual(terms.seen.created.map((c) => c.args[1]), ['mkdir sub && cd sub && echo out; echo err >&2; exit 3', 'basename $PWD', 'touch begun; sleep 600']);
  assert.equal(terms.seen.created[1].cwd, p.file('sub'), 'a cd holds for the next command');
  assert.deepEqual([terms.seen.killed, terms.seen.released], [1, 3]);
  const first = e.of('tool_call_update').filter((u) => u.toolCallId === 'toolu_one');
  assert.equal(first.at(-1).status, 'failed');
  assert.equal(first.at(-1).rawOutput.exitCode, 3);
  assert.match(first.at(-1).rawOutput.stdout, /out\nerr/);
});

test('a client that sends garbage, goes away, or never answers', { concurrency: true }, async (t) => {
  const p = await place(t, 'turn\n  call Bash {"command": "touch no"}\nturn\n  text never\n');
  const child = spawn(process.env.GOFER_BINARY, ['acp'], { env: p.env, stdio: ['pipe', 'pipe', 'pipe'] });
  t.after(() => child.kill('SIGKILL'));
  let out = '';
  let wake = () => {};
  child.stdout.on('data', (d) => ((out += d), wake()));
  const until = async (fits) => {
    while (!fits(out)) await new Promise((r) => (wake = r));
  };
  const send = (m) => child.stdin.write(JSON.stringify({ jsonrpc: '2.0', ...m }) + '\n');
  child.stdin.write('garbage\n\n[{"jsonrpc":"2.0"}]\n{}\n{"jsonrpc":"2.0","id":7,"result":{}}\n\u0000\n');
  send({ id: 1, method: 'no/such/method' });
  send({ method: 'no/such/notification' });
  send({ id: 2, method: 'session/prompt', params: { sessionId: 'none', prompt: [] } });
  send({ id: 3, method: 'session/new', params: { cwd: 5 } });
  send({ id: 'four', method: 'session/new', params: { cwd: p.project, mcpServers: [] } });
  await until((o) => /"id":"four"/.test(o));
  const answers = out.trim().split('\n').map((l) => JSON.parse(l));
  assert.deepEqual(answers.slice(0, 4).map((a) => a.error.code), [-32700, -32600, -32600, -32700]);
  assert.equal(answers.find((a) => a.id === 1).error.code, -32601);
  assert.equal(answers.find((a) => a.id === 2).error.code, -32602);
  assert.equal(answers.find((a) => a.id === 3).error.code, -32602);
  const { sessionId } = answers.find((a) => a.id === 'four').result;
  send({ id: 5, method: 'session/prompt', params: { sessionId, prompt: [{ type: 'text', text: 'go' }] } });
  await until((o) => /session\/request_permission/.test(o));
  // It never answers, and closes its side in the middle of a line.
  child.stdin.end('{"jsonrpc":"2.0","id":6,"meth');
  const code = await new Promise((done) => child.on('exit', done));
  assert.equal(code, 0);
  assert.equal(existsSync(p.file('no')), false);
});

test('a burst of prompts is answered in order', { concurrency: true }, async (t) => {
  const n = 100;
  const p = await place(t, `turn\n  text Yes.\n  repeat ${n}\n`);
  const e = await Editor.start(t, p);
  const id = await e.open();
  const order = [];
  await Promise.all(Array.from({ length: n }, (_, i) => e.prompt(id, `number ${i}`).then(() => order.push(i))));
  assert.deepEqual(order, Array.from({ length: n }, (_, i) => i));
  assert.equal(e.said(id), 'Yes.'.repeat(n));
});

test('an editor that does not know a file is done without', { concurrency: true }, async (t) => {
  const p = await place(t, 'turn\n  call Read {"file_path": "a.txt"}\nturn\n  text Done.\n', { 'a.txt': 'saved\n' });
  const e = await Editor.start(t, p, {
    capabilities: { fs: { readTextFile: true } },
    on: { [methods.client.fs.readTextFile]: () => { throw new Error('cannot'); } },
  });
  const id = await e.open();
  assert.equal((await e.prompt(id, 'go')).stopReason, 'end_turn');
  assert.match(JSON.stringify(e.of('tool_call_update')), /saved/);
});

test('an editor that closes its ears ends gofer, and says why', { concurrency: true }, async (t) => {
  const p = await place(t, 'turn\n  text Hello.\n');
  const e = await Editor.start(t, p);
  const id = await e.open();
  e.process.stdout.destroy();
  e.prompt(id, 'go').catch(() => {});
  const { code, signal } = await e.exited;
  assert.deepEqual([code, signal], [1, null]);
  assert.match(e.stderr, /writing to the client/);
});

test('servers that the editor passes', { concurrency: true }, async (t) => {
  const p = await place(t, `
turn
  call mcp__other__Glob {"pattern": "*.txt"}
turn
  text Done.
`, { 'here.txt': '' });
  const e = await Editor.start(t, p, { args: ['--allowedTools', 'mcp__other'] });
  const env = Object.entries(p.env).filter(([name]) => /^(PATH|HOME|GOFER_TEST_MAIN|GORACE)$/.test(name)).map(([name, value]) => ({ name, value }));
  const id = await e.open({ mcpServers: [{ name: 'other', command: process.env.GOFER_BINARY, args: ['mcp', 'serve'], env }] });
  assert.equal((await e.prompt(id, 'go')).stopReason, 'end_turn');
  assert.match(JSON.stringify(e.of('tool_call_update').at(-1)), /here\.txt/);
});
