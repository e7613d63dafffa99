// Prompts, streams, results, errors and limits.
import assert from 'node:assert/strict';
import { describe } from 'node:test';
import { lastUser, model, real, stage, test, textOf, toolResults } from './stage.mjs';

export default () => describe('basics', { concurrency: 4 }, () => {
  test('a prompt as text is answered', async (t) => {
    const s = await stage(t, 'turn\ntext I heard {{last_user}}\n');
    const all = await s.ask('hello');
    assert.equal(all.error, undefined);
    assert.equal(all.result.subtype, 'success');
    assert.match(all.result.result, /^I heard .*hello/s);
    assert.equal(all.result.num_turns, 1);
    assert.equal(all.result.is_error, false);
    assert.ok(all.result.duration_ms >= 0 && all.result.total_cost_usd > 0 && all.result.usage.output_tokens > 0);
    assert.ok(all.result.modelUsage[model].costUSD > 0);
    assert.deepEqual(all.result.permission_denials, []);
    assert.equal(all.at(-1).type === 'result' || all.at(-1).subtype === 'session_state_changed', true, 'nothing but a change of state follows the result');
    assert.equal(all.init.cwd, s.project);
    assert.equal(all.init.session_id, all.result.session_id);
    assert.equal(all.init.model, model);
    for (const field of ['tools', 'mcp_servers', 'slash_commands', 'agents', 'skills', 'plugins', 'capabilities']) assert.ok(Array.isArray(all.init[field]), field);
    for (const m of all) assert.ok(m.uuid && m.session_id, `${m.type} has ids`);
  });

  test('a conversation keeps its context and its session', async (t) => {
    const s = await stage(t, 'turn\ntext one\nturn\ntext two\nturn\ntext three\n');
    const talk = s.talk();
    const results = [];
    for (const text of ['a', 'b', 'c']) results.push(await talk.exchange(text));
    await talk.end();
    assert.deepEqual(results.map((r) => r.result), ['one', 'two', 'three']);
    assert.equal(new Set(results.map((r) => r.session_id)).size, 1);
    assert.equal(talk.seen.filter((m) => m.subtype === 'init').length, 3, 'each turn begins with its init');
    const last = (await s.requests()).at(-1).body;
    assert.equal(last.messages.filter((m) => m.role === 'assistant').length, 2);
  });

  test('blocks of a prompt arrive as blocks', async (t) => {
    const s = await stage(t, 'turn\ntext seen\n');
    const pixel = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==';
    const talk = s.talk();
    await talk.exchange([{ type: 'text', text: 'what is this?' }, { type: 'image', source: { type: 'base64', media_type: 'image/png', data: pixel } }]);
    await talk.end();
    const content = (await s.requests()).at(-1).body.messages.flatMap((m) => (Array.isArray(m.content) ? m.content : []));
    assert.ok(content.some((b) => b.type === 'image'));
  });

  test('a tool runs and its result is told', async (t) => {
    const s = await stage(t, 'turn\ntext looking\ncall Read {"file_path":"{{last_user}}"}\nturn\ntext done\n', { 'a.txt': 'the content\n' });
    const all = await s.ask(`${s.project}/a.txt`, { systemPrompt: 'x', settingSources: [] });
    const [result] = toolResults(all);
    assert.match(textOf(result), /the content/);
    assert.equal(all.result.num_turns, 2);
    const blocks = all.of('assistant').map((m) => m.message.content[0].type);
    assert.deepEqual(blocks, ['text', 'tool_use', 'text']);
    const [first, second] = all.of('assistant');
    assert.equal(first.message.id, second.message.id, 'blocks of one reply share their id');
    assert.equal(first.parent_tool_use_id, null);
    const user = all.of('user').find((m) => m.tool_use_result);
    assert.equal(user.tool_use_result.file?.content.trim(), 'the content');
  });

  test('partial messages are the events of the provider', async (t) => {
    const s = await stage(t, 'chunk 4\nturn\ntext a longer answer\n');
    const all = await s.ask('go', { includePartialMessages: true });
    const events = all.of('stream_event').map((m) => m.event.type);
    assert.equal(events[0], 'message_start');
    assert.equal(events.at(-1), 'message_stop');
    const text = all.of('stream_event').filter((m) => m.event.delta?.type === 'text_delta').map((m) => m.event.delta.text).join('');
    assert.equal(text, 'a longer answer');
    assert.ok(!(await s.ask('go')).some((m) => m.type === 'stream_event'), 'only where they are asked for');
  });

  test('an error of the provider is a result and an error', async (t) => {
    const s = await stage(t, 'turn\nerror 400 invalid_request_error this is refused\n');
    const all = await s.ask('go');
    assert.equal(all.result.is_error, true);
    assert.equal(all.result.subtype, 'success');
    assert.equal(all.result.api_error_status, 400);
    assert.match(all.result.result, /API Error: 400 .*this is refused/);
    assert.ok(all.error, 'the library throws after the result');
    assert.equal(all.of('assistant').at(-1).message.model, '<synthetic>');
  });

  test('retries are told', async (t) => {
    const s = await stage(t, 'turn\nfail 1 error 529 overloaded_error retry-after=0 Overloaded\ntext after all\n');
    const all = await s.ask('go', { env: { CLAUDE_CODE_MAX_RETRIES: '2' } });
    assert.equal(all.result.result, 'after all');
    const [retry] = all.of('system', 'api_retry');
    assert.equal(retry.attempt, 1);
    assert.equal(retry.error_status, 529);
    assert.equal(retry.max_retries, 2);
  });

  test('turns are limited', async (t) => {
    const s = await stage(t, 'turn\nrepeat 9\ncall Bash {"command":"echo {{n}}"}\n');
    const all = await s.ask('go', { maxTurns: 2, allowedTools: ['Bash'] });
    assert.equal(all.result.subtype, 'error_max_turns');
    assert.equal(all.result.is_error, true);
    assert.match(all.result.errors[0], /2/);
    assert.equal((await s.requests()).length, 2);
  });

  test('money is limited', async (t) => {
    const s = await stage(t, 'turn\nrepeat 9\nusage input=400000 output=20000\ncall Bash {"command":"echo {{n}}"}\n');
    const all = await s.ask('go', { maxBudgetUsd: 0.5, allowedTools: ['Bash'] });
    assert.equal(all.result.subtype, 'error_max_budget_usd');
    assert.ok(all.result.total_cost_usd > 0.5);
  });

  test('an unknown option of another program is an error that names it', async (t) => {
    const s = await stage(t, 'turn\ntext x\n');
    const all = await s.ask('go', { extraArgs: { 'no-such-option': 'x' } });
    assert.match(String(all.error), /unknown option '--no-such-option'|exited with code 1/);
    assert.match(s.stderr(), /no-such-option/);
  });

  test('a session that is not there is an error that says so', async (t) => {
    const s = await stage(t, 'turn\ntext x\n');
    const all = await s.ask('go', { resume: '11111111-1111-4111-8111-111111111111' });
    assert.equal(all.result.subtype, 'error_during_execution');
    assert.match(all.result.errors[0], /No conversation found with session ID/);
    assert.ok(all.error);
  });

  test('an abort ends the program', async (t) => {
    const s = await stage(t, 'turn\nstall forever silent\n');
    const abortController = new AbortController();
    const q = s.query('go', { abortController });
    for await (const m of q) {
      if (m.subtype === 'init') break;
    }
    abortController.abort();
    q.close();
    assert.equal((await q.next()).done, true);
  });

  test('an answer in the form of a schema', async (t) => {
    const s = await stage(t, 'turn\ncall StructuredOutput {"name":"x","size":"wrong"}\nturn\ncall StructuredOutput {"name":"x","size":3}\n');
    const schema = { type: 'object', properties: { name: { type: 'string' }, size: { type: 'number' } }, required: ['name', 'size'] };
    const all = await s.ask('go', { outputFormat: { type: 'json_schema', schema } });
    assert.deepEqual(all.result.structured_output, { name: 'x', size: 3 });
    assert.deepEqual(JSON.parse(all.result.result), { name: 'x', size: 3 });
  });

  test('a message without a question is kept for the next one', async (t) => {
    const s = await stage(t, 'turn\ntext ok\n');
    const talk = s.talk();
    const noted = await talk.exchange('remember: blue', { shouldQuery: false });
    assert.equal(noted.num_turns, 0);
    assert.equal((await s.requests()).length, 0);
    await talk.exchange('and now?');
    await talk.end();
    assert.match((await s.requests())[0].text, /remember: blue/);
  });

  test('prompts come back where that is asked for', async (t) => {
    const s = await stage(t, 'turn\ntext ok\n');
    const talk = s.talk({ extraArgs: { 'replay-user-messages': null } });
    const uuid = '22222222-2222-4222-8222-222222222222';
    await talk.exchange('hello', { uuid });
    await talk.end();
    const replay = talk.seen.find((m) => m.type === 'user' && m.isReplay);
    assert.equal(replay.uuid, uuid);
  });

  test('a burst of messages is answered in order', async (t) => {
    const s = await stage(t, 'turn\nrepeat 100\ntext {{last_user}}\n');
    const talk = s.talk();
    const n = 20;
    for (let i = 0; i < n; i++) talk.say(`message ${i}`);
    const answers = [];
    // The other program joins what waits into one turn.
    if (real) {
      await talk.next('result');
    } else {
      for (let i = 0; i < n; i++) answers.push((await talk.next('result')).result);
      assert.deepEqual(answers, Array.from({ length: n }, (_, i) => `message ${i}`));
    }
    await talk.end();
    assert.match(lastUser((await s.requests()).at(-1).body), new RegExp(`message ${n - 1}`));
  });
});
