// A whole session: opening, talking, tools, permissions, plans, modes, models, and going on after a restart.
import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import { spawnSync } from 'node:child_process';
import { test } from 'node:test';
import { Editor, methods, place } from './editor.mjs';

test('a whole session', { concurrency: true }, async (t) => {
  const p = await place(t, `
turn
  think Where does it stand?
  text I look and then I change it.
  call Read {"file_path": "add.go"}
turn
  call Edit as toolu_edit {"file_path": "add.go", "old_string": "a - b", "new_string": "a + b"}
turn
  call TaskCreate {"subject": "Test it", "description": "Run the tests", "activeForm": "Testing"}
  call Bash {"command": "touch made; echo one; echo two >&2", "description": "Say something"}
turn
  text Fixed.
`, { 'add.go': 'package add\n\nfunc Add(a, b int) int { return a - b }\n' });
  const e = await Editor.start(t, p);
  assert.equal(e.can.protocolVersion, 1);
  assert.equal(e.can.agentInfo.name, 'gofer');
  assert.deepEqual(e.can.agentCapabilities.promptCapabilities, { image: true, audio: false, embeddedContext: true });
  assert.equal(e.can.agentCapabilities.loadSession, true);
  for (const ability of ['list', 'delete', 'resume', 'close', 'additionalDirectories']) assert.ok(e.can.agentCapabilities.sessionCapabilities[ability], ability);

  const commands = e.until((u) => u.sessionUpdate === 'available_commands_update');
  const id = await e.open();
  assert.ok((await commands).availableCommands.some((c) => c.name === 'compact' && c.input.hint));
  const answer = await e.prompt(id, 'fix it');
  assert.equal(answer.stopReason, 'end_turn');
  assert.equal(e.said(id), 'I look and then I change it.Fixed.');
  assert.equal(e.of('agent_thought_chunk').map((u) => u.content.text).join(''), 'Where does it stand?');
  assert.equal(p.read('add.go'), 'package add\n\nfunc Add(a, b int) int { return a + b }\n');

  const calls = e.of('tool_call');
  assert.deepEqual(calls.map((c) => c.kind), ['read', 'edit', 'think', 'execute']);
  assert.deepEqual(calls[0].locations, [{ path: p.file('add.go') }]);
  const lastOf = (call) => e.of('tool_call_update').filter((u) => u.toolCallId === call.toolCallId).at(-1);
  assert.ok(calls.every((c) => lastOf(c).status === 'completed'));
  assert.match(lastOf(calls[0]).content[0].content.text, /return a - b/);
  assert.equal(calls[3].title, 'touch made; echo one; echo two >&2');
  assert.match(lastOf(calls[3]).content[0].content.text, /one\ntwo/);
  const diff = lastOf(calls[1]).content[0];
  assert.deepEqual([diff.type, diff.path], ['diff', p.file('add.go')]);
  assert.match(diff.oldText, /^package add[^]*a - b \}\n$/);
  assert.match(diff.newText, /^package add[^]*a \+ b \}\n$/);
  assert.deepEqual(e.of('plan').at(-1).entries.map((s) => [s.content, s.status]), [['Test it', 'pending']]);
  assert.ok(e.of('usage_update').at(-1).cost.amount > 0);
  assert.ok(e.of('usage_update').at(-1).used > 100);

  // The person was asked, saw the whole change, and what "always" would mean. The client knew the call before it was asked about it.
  assert.deepEqual(e.permissions.map((r) => r.toolCall.kind), ['edit', 'execute']);
  const ask = e.permissions[0];
  assert.equal(ask.toolCall.toolCallId, 'toolu_edit');
  assert.match(ask.toolCall.content.find((c) => c.type === 'diff').newText, /^package add[^]*a \+ b/);
  assert.deepEqual(ask.options.map((o) => o.kind), ['allow_once', 'allow_always', 'reject_once']);
  assert.match(e.permissions[1].options[1].name, /^Always allow Bash\(touch made/);
  assert.deepEqual(await e.close(), { code: 0, signal: null });
});

test('a permission can be refused, or hold from then on', { concurrency: true }, async (t) => {
  const p = await place(t, `
turn
  call Bash {"command": "touch no"}
turn
  call Bash {"command": "touch one"}
turn
  call Bash {"command": "touch one two"}
turn
  text Done.
`);
  const e = await Editor.start(t, p);
  const kinds = ['reject_once', 'allow_always'];
  e.choose = (options) => options.find((o) => o.kind === kinds[e.permissions.length - 1]).optionId;
  const id = await e.open();
  assert.equal((await e.prompt(id, 'go')).stopReason, 'end_turn');
  assert.equal(e.permissions.length, 2, 'the third call is covered by what was allowed for always');
  assert.deepEqual(['no', 'one', 'two'].map((n) => existsSync(p.file(n))), [false, true, true]);
  assert.equal(e.of('tool_call_update').filter((u) => u.status === 'failed').length > 0, true);
});

test('closing the question stops the turn', { concurrency: true }, async (t) => {
  const p = await place(t, 'turn\n  call Bash {"command": "touch no"}\nturn\n  text never\n');
  const e = await Editor.start(t, p);
  e.choose = () => undefined;
  const id = await e.open();
  assert.equal((await e.prompt(id, 'go')).stopReason, 'cancelled');
  assert.equal(existsSync(p.file('no')), false);
});

test('modes, models and other settings', { concurrency: true }, async (t) => {
  const p = await place(t, `
turn
  call Write {"file_path": "a", "content": "x"}
turn
  text Written.
turn
  call ExitPlanMode {"plan": "1. Do it."}
turn
  text Now I do it.
`);
  const e = await Editor.start(t, p);
  const s = await e.agent.request(methods.agent.session.new, { cwd: p.project, mcpServers: [] });
  const id = s.sessionId;
  assert.equal(s.modes.currentModeId, 'default');
  assert.ok(['plan', 'acceptEdits'].every((m) => s.modes.availableModes.some((a) => a.id === m)));
  assert.ok(!s.modes.availableModes.some((a) => a.id === 'bypassPermissions'), 'it must be allowed when gofer starts');
  const changed = e.until((u) => u.sessionUpdate === 'current_mode_update');
  await e.agent.request(methods.agent.session.setMode, { sessionId: id, modeId: 'acceptEdits' });
  assert.equal((await changed).currentModeId, 'acceptEdits');
  assert.equal((await e.prompt(id, 'write')).stopReason, 'end_turn');
  assert.deepEqual([e.permissions.length, p.read('a')], [0, 'x']);
  await assert.rejects(e.agent.request(methods.agent.session.setMode, { sessionId: id, modeId: 'bypassPermissions' }), /allow-dangerously/);
  await assert.rejects(e.agent.request(methods.agent.session.setMode, { sessionId: id, modeId: 'nonsense' }), /nonsense/);

  const model = s.configOptions.find((o) => o.category === 'model');
  const other = model.options.find((o) => o.value !== model.currentValue).value;
  const { configOptions } = await e.agent.request(methods.agent.session.setConfigOption, { sessionId: id, configId: 'model', value: other });
  assert.equal(configOptions.find((o) => o.id === 'model').currentValue, other);

  const effort = s.configOptions.find((o) => o.category === 'thought_level');
  const harder = effort.options.at(-1).value;
  const now = await e.agent.request(methods.agent.session.setConfigOption, { sessionId: id, configId: 'effort', value: harder });
  assert.equal((now.configOptions.find((o) => o.id === 'effort') ?? { currentValue: harder }).currentValue, harder);
  await assert.rejects(e.agent.request(methods.agent.session.setConfigOption, { sessionId: id, configId: 'colour', value: 'red' }), /colour/);
  await e.agent.request('session/set_model', { sessionId: id, modelId: model.currentValue }); // as older clients do it
  assert.equal(e.of('config_option_update').at(-1).configOptions.find((o) => o.id === 'model').currentValue, model.currentValue);

  // A plan is accepted in the editor, which learns that the mode is another one.
  await e.agent.request(methods.agent.session.setConfigOption, { sessionId: id, configId: 'mode', value: 'plan' });
  e.choose = (options) => options.find((o) => /let edits pass/.test(o.name)).optionId;
  assert.equal((await e.prompt(id, 'plan it')).stopReason, 'end_turn');
  assert.match(e.permissions[0].toolCall.content[0].content.text, /1\. Do it\./);
  assert.deepEqual(e.of('current_mode_update').map((u) => u.currentModeId), ['acceptEdits', 'plan', 'acceptEdits']);
});

test('cancel in mid-tool, and go on', { concurrency: true }, async (t) => {
  const p = await place(t, `
turn
  call Bash {"command": "touch begun; sleep 600"}
turn
  text I am here again.
`);
  const e = await Editor.start(t, p, { args: ['--allowedTools', 'Bash'] });
  const id = await e.open();
  const runs = e.until((u) => u.sessionUpdate === 'tool_call_update' && u.status === 'in_progress');
  const first = e.prompt(id, 'wait');
  const second = e.prompt(id, 'and this one waits for the first');
  await runs;
  await e.agent.notify(methods.agent.session.cancel, { sessionId: id });
  assert.equal((await first).stopReason, 'cancelled');
  assert.equal((await second).stopReason, 'cancelled');
  assert.equal(e.of('tool_call_update').at(-1).status, 'failed');
  assert.equal((await e.prompt(id, 'go on')).stopReason, 'end_turn');
  assert.equal(e.said(id), 'I am here again.');
  await e.agent.notify(methods.agent.session.cancel, { sessionId: id }); // nothing runs: nothing happens
  await e.close();
  assert.ok(!spawnSync('pgrep', ['-f', `${p.root}.*sleep 600`]).stdout.length);
});

test('sessions outlive gofer, and are those of all ways in', { concurrency: true }, async (t) => {
  const p = await place(t, `
turn
  text The answer is 42.
  call Write {"file_path": "note", "content": "42\\n"}
turn
  text Noted.
turn
  text From the command line.
turn
  text And again from the editor.
`);
  let e = await Editor.start(t, p);
  const id = await e.open();
  await e.prompt(id, 'what is it?');
  await e.close();

  // gofer on the command line goes on with it,
  const cli = spawnSync(process.env.GOFER_BINARY, ['-p', '--resume', id, 'and now?'], { env: p.env, cwd: p.project, input: '', encoding: 'utf8' });
  assert.equal(cli.stdout, 'From the command line.\n', cli.stderr);

  // and so does a new editor, which sees all that was said.
  e = await Editor.start(t, p);
  const { sessions } = await e.agent.request(methods.agent.session.list, { cwd: p.project });
  assert.deepEqual(sessions.map((s) => [s.sessionId, s.cwd, s.title]), [[id, p.project, 'what is it?']]);
  const loaded = await e.agent.request(methods.agent.session.load, { sessionId: id, cwd: p.project, mcpServers: [] });
  assert.equal(loaded.modes.currentModeId, 'default');
  assert.deepEqual(e.of('user_message_chunk').map((u) => u.content.text), ['what is it?', 'and now?']);
  assert.equal(e.said(id), 'The answer is 42.Noted.From the command line.');
  assert.deepEqual(e.of('tool_call').map((u) => [u.kind, u.content[0].type, u.content[0].newText]), [['edit', 'diff', '42\n']]);
  assert.equal(e.of('tool_call_update').at(-1).status, 'completed');
  assert.equal((await e.prompt(id, 'and you?')).stopReason, 'end_turn');
  assert.match(e.said(id), /And again from the editor\.$/);
  await e.close();

  // resume opens it without the history; fork makes a copy; delete removes it.
  e = await Editor.start(t, p);
  const copy = await e.agent.request('session/fork', { sessionId: id, cwd: p.project, mcpServers: [] });
  assert.notEqual(copy.sessionId, id);
  await e.agent.request(methods.agent.session.close, { sessionId: copy.sessionId });
  await e.agent.request(methods.agent.session.delete, { sessionId: copy.sessionId });
  await e.agent.request(methods.agent.session.resume, { sessionId: id, cwd: p.project });
  assert.deepEqual([e.of('user_message_chunk'), e.said(id)], [[], '']);
  await e.agent.request(methods.agent.session.close, { sessionId: id });
  await assert.rejects(e.prompt(id, 'hello?'), /no session/);
  await e.agent.request(methods.agent.session.delete, { sessionId: id });
  assert.deepEqual((await e.agent.request(methods.agent.session.list, {})).sessions, []);
  await assert.rejects(e.agent.request(methods.agent.session.load, { sessionId: id, cwd: p.project, mcpServers: [] }), /No conversation found/);
});

test('several sessions at once, each in its own folder', { concurrency: true }, async (t) => {
  const p = await place(t, 'turn\n  call Bash {"command": "pwd; sleep 0.2"}\nturn\n  text Done.\n');
  const e = await Editor.start(t, p, { args: ['--allowedTools', 'Bash'] });
  const ids = await Promise.all([p.project, p.root, p.project].map((cwd) => e.open({ cwd })));
  assert.equal(new Set(ids).size, 3);
  const answers = await Promise.all(ids.map((id) => e.prompt(id, 'where?')));
  assert.deepEqual(answers.map((a) => a.stopReason), ['end_turn', 'end_turn', 'end_turn']);
  for (const [i, cwd] of [p.project, p.root, p.project].entries()) {
    assert.ok(e.of('tool_call_update', ids[i]).at(-1).content[0].content.text.includes(`\n${cwd}\n`), cwd);
    assert.equal(e.said(ids[i]), 'Done.');
  }
  const begun = performance.now();
  await e.open();
  assert.ok(performance.now() - begun < 500, 'a new session takes no time'); // 50 ms are promised; under the race detector more
});

test('prompts with pictures, links and files', { concurrency: true }, async (t) => {
  const p = await place(t, 'turn\n  text Seen.\n', { 'a.md': 'hello' });
  const e = await Editor.start(t, p);
  const id = await e.open();
  const png = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==';
  const answer = await e.prompt(id, [
    { type: 'text', text: 'look' },
    { type: 'image', mimeType: 'image/png', data: png },
    { type: 'resource_link', name: 'a.md', uri: `file://${p.file('a.md')}` },
    { type: 'resource', resource: { uri: 'file:///b.md', mimeType: 'text/markdown', text: 'what is not saved' } },
  ]);
  assert.equal(answer.stopReason, 'end_turn');
  await e.agent.request(methods.agent.session.load, { sessionId: id, cwd: p.project, mcpServers: [] });
  const said = e.of('user_message_chunk').map((u) => u.content);
  assert.equal(said.find((c) => c.type === 'image').data, png);
  assert.ok(said.some((c) => c.text === `@${p.file('a.md')}`));
  assert.ok(said.some((c) => /what is not saved/.test(c.text)));
  await assert.rejects(e.prompt(id, []), /empty/);
  await assert.rejects(e.prompt(id, [{ type: 'audio', mimeType: 'audio/wav', data: '' }]), /audio/);
});

test('a slash command and a failing model', { concurrency: true }, async (t) => {
  const p = await place(t, 'turn\n  error 400 invalid_request_error nothing works today\n');
  const e = await Editor.start(t, p);
  const id = await e.open();
  assert.equal((await e.prompt(id, '/cost')).stopReason, 'end_turn');
  assert.match(e.said(id), /has cost/);
  await assert.rejects(e.prompt(id, 'hello'), /nothing works today/);
  await assert.rejects(e.open({ cwd: 'relative' }), /absolute/);
  await assert.rejects(e.open({ cwd: p.file('missing') }), /not a folder/);
});

test('questions of the model are asked in the editor', { concurrency: true }, async (t) => {
  const p = await place(t, `
turn
  call AskUserQuestion {"questions":[{"question":"Which?","options":[{"label":"Red","description":"warm"},{"label":"Blue"}]}]}
turn
  text Blue it is.
`);
  const e = await Editor.start(t, p);
  e.choose = (options) => options.find((o) => o.name === 'Blue').optionId;
  const id = await e.open();
  assert.equal((await e.prompt(id, 'ask me')).stopReason, 'end_turn');
  assert.equal(e.permissions[0].toolCall.title, 'Which?');
  assert.match(JSON.stringify(e.of('tool_call_update')), /Which\? Blue/);
});

test('questions are asked in a form where the editor has forms', { concurrency: true }, async (t) => {
  const p = await place(t, `
turn
  call AskUserQuestion {"questions":[{"question":"Which?","options":[{"label":"Red"},{"label":"Blue"}]},{"question":"What else?","multiSelect":true,"options":[{"label":"Tea"},{"label":"Cake"}]}]}
turn
  text Good.
`);
  const forms = [];
  const e = await Editor.start(t, p, {
    capabilities: { elicitation: { form: {} } },
    on: { [methods.client.elicitation.create]: ({ params }) => (forms.push(params), { action: 'accept', content: { question1: 'Blue', question2: ['Tea', 'Cake'] } }) },
  });
  const id = await e.open();
  assert.equal((await e.prompt(id, 'ask me')).stopReason, 'end_turn');
  assert.deepEqual([forms.length, forms[0].mode, forms[0].sessionId, Object.keys(forms[0].requestedSchema.properties)], [1, 'form', id, ['question1', 'question2']]);
  assert.match(JSON.stringify(e.of('tool_call_update')), /Which\? Blue.*What else\? Tea, Cake/);
  assert.equal(e.permissions.length, 0);
});
