// Callbacks that the program registers for what happens in the session.
import assert from 'node:assert/strict';
import { describe } from 'node:test';
import { real, stage, test, textOf, toolResults } from './stage.mjs';

const touch = 'turn\ncall Bash {"command":"touch asked"}\nturn\ntext done\n';

// on registers one callback for each event and keeps what it was told.
function on(events, answer = () => ({})) {
  const calls = [];
  const hooks = {};
  for (const [name, matcher] of Object.entries(events)) {
    hooks[name] = [{ ...(matcher ? { matcher } : {}), hooks: [async (input, toolUseID, { signal }) => {
      calls.push({ name, input, toolUseID, signal });
      return answer(name, input) ?? {};
    }] }];
  }
  return { calls, hooks, named: (name) => calls.filter((c) => c.name === name) };
}

export default () => describe('hooks', { concurrency: 4 }, () => {
  test('the events of a turn, in order, with their fields', async (t) => {
    const s = await stage(t, 'turn\ncall Bash {"command":"echo hi"}\ncall Read {"file_path":"/no/such/file"}\nturn\ntext done\n');
    const h = on({ UserPromptSubmit: '', PreToolUse: '', PostToolUse: '', PostToolUseFailure: '', Stop: '' });
    const all = await s.ask('go', { hooks: h.hooks, allowedTools: ['Bash', 'Read'] });
    const names = h.calls.map((c) => c.name);
    assert.equal(names[0], 'UserPromptSubmit');
    assert.equal(names.at(-1), 'Stop');
    assert.equal(h.named('PreToolUse').length, 2);
    assert.equal(h.named('UserPromptSubmit')[0].input.prompt, 'go');
    const post = h.named('PostToolUse')[0];
    assert.equal(post.input.tool_name, 'Bash');
    assert.equal(post.input.tool_input.command, 'echo hi');
    assert.equal(post.input.tool_response.stdout.trim(), 'hi');
    assert.ok(post.toolUseID);
    assert.equal(h.named('PostToolUseFailure')[0].input.tool_name, 'Read');
    assert.equal(h.named('Stop')[0].input.stop_hook_active, false);
    for (const c of h.calls) {
      assert.equal(c.input.hook_event_name, c.name);
      assert.equal(c.input.session_id, all.result.session_id);
      assert.equal(c.input.cwd, s.project);
      assert.ok(c.input.transcript_path.endsWith('.jsonl'));
    }
  });

  test('a matcher chooses', async (t) => {
    const s = await stage(t, touch);
    const h = on({ PreToolUse: 'Edit|Write' });
    await s.ask('go', { hooks: h.hooks, allowedTools: ['Bash'] });
    assert.equal(h.calls.length, 0);
  });

  test('PreToolUse denies, changes the input and adds context', async (t) => {
    const run = async (specific) => {
      const s = await stage(t, touch);
      const h = on({ PreToolUse: 'Bash' }, () => ({ hookSpecificOutput: { hookEventName: 'PreToolUse', ...specific } }));
      return { s, all: await s.ask('go', { hooks: h.hooks }) };
    };
    const denied = await run({ permissionDecision: 'deny', permissionDecisionReason: 'the hook says no' });
    assert.ok(!denied.s.exists('asked'));
    assert.match(textOf(toolResults(denied.all)[0]), /the hook says no/);
    const changed = await run({ permissionDecision: 'allow', updatedInput: { command: 'touch other' } });
    assert.ok(changed.s.exists('other') && !changed.s.exists('asked'));
    const added = await run({ permissionDecision: 'allow', additionalContext: 'mind the gap' });
    assert.match((await added.s.requests()).at(-1).text, /mind the gap/);
  });

  test('PostToolUse adds context', async (t) => {
    const s = await stage(t, touch);
    const h = on({ PostToolUse: 'Bash' }, () => ({ hookSpecificOutput: { hookEventName: 'PostToolUse', additionalContext: 'that was quick' } }));
    await s.ask('go', { hooks: h.hooks, allowedTools: ['Bash'] });
    assert.match((await s.requests()).at(-1).text, /that was quick/);
  });

  test('UserPromptSubmit blocks, and adds context', async (t) => {
    const s = await stage(t, 'turn\ntext done\n');
    const block = on({ UserPromptSubmit: '' }, () => ({ decision: 'block', reason: 'not this one' }));
    const all = await s.ask('go', { hooks: block.hooks });
    assert.match(all.result.result ?? '', /not this one/);
    assert.equal(all.result.num_turns, 0);
    assert.equal((await s.requests()).length, 0);
    const add = on({ UserPromptSubmit: '' }, () => ({ hookSpecificOutput: { hookEventName: 'UserPromptSubmit', additionalContext: 'today is a holiday' } }));
    await s.ask('go', { hooks: add.hooks });
    assert.match((await s.requests())[0].text, /today is a holiday/);
  });

  test('Stop keeps the turn going', async (t) => {
    const s = await stage(t, 'turn\ntext too early\nturn\ntext now it is done\n');
    const h = on({ Stop: '' }, (_, input) => (input.stop_hook_active ? {} : { decision: 'block', reason: 'go on' }));
    const all = await s.ask('go', { hooks: h.hooks });
    assert.equal(all.result.result, 'now it is done');
    assert.equal(h.calls.length, 2);
  });

  test('a hook ends the turn', async (t) => {
    const s = await stage(t, touch);
    const h = on({ PostToolUse: '' }, () => ({ continue: false, stopReason: 'enough' }));
    const all = await s.ask('go', { hooks: h.hooks, allowedTools: ['Bash'] });
    assert.equal(all.result.terminal_reason, 'hook_stopped');
    assert.equal((await s.requests()).length, 1);
  });

  test('a hook that throws does not block, unless it has to', async (t) => {
    const run = async (more) => {
      const s = await stage(t, touch);
      await s.ask('go', { allowedTools: ['Bash'], hooks: { PreToolUse: [{ hooks: [async () => { throw new Error('oops'); }], ...more }] } });
      return s.exists('asked');
    };
    assert.equal(await run({}), true);
    assert.equal(await run({ onFailure: 'block' }), false);
  });

  test('a hook that never answers is given up, and the call does not run', async (t) => {
    const s = await stage(t, touch);
    let aborted = false;
    const all = await s.ask('go', { allowedTools: ['Bash'], hooks: { PreToolUse: [{ timeout: 0.2, hooks: [(_i, _id, { signal }) => new Promise(() => {
      signal.addEventListener('abort', () => { aborted = true; });
    })] }] } });
    assert.ok(!s.exists('asked'));
    assert.equal(toolResults(all)[0].is_error, true);
    assert.equal(aborted, true);
  });

  test('sub-agents, compaction and tasks have their events', async (t) => {
    const s = await stage(t, `turn
call Agent {"description":"look","prompt":"Look around.","subagent_type":"general-purpose","run_in_background":false}
turn
text done
turn
repeat 3
fill 60000
section agent
when first_user ~ Look around
turn
text seen
section summary
when no tools
turn
text A short summary.
`);
    const h = on({ SubagentStart: '', SubagentStop: '', PreCompact: '', PostCompact: '', Stop: '' });
    const talk = s.talk({ hooks: h.hooks });
    await talk.exchange('go');
    const start = h.named('SubagentStart')[0].input;
    assert.equal(start.agent_type, 'general-purpose');
    assert.equal(h.named('SubagentStop')[0].input.agent_id, start.agent_id);
    if (!real) {
      await talk.exchange('go on');
      await talk.exchange('go on');
      await talk.exchange('/compact');
      assert.equal(h.named('PreCompact')[0].input.trigger, 'manual');
      assert.equal(h.named('PostCompact').length, 1);
    }
    await talk.end();
  });

  test('PermissionRequest answers before anyone is asked', async (t) => {
    const s = await stage(t, touch);
    const h = on({ PermissionRequest: '' }, () => ({ hookSpecificOutput: { hookEventName: 'PermissionRequest', decision: { behavior: 'allow' } } }));
    await s.ask('go', { hooks: h.hooks });
    assert.ok(s.exists('asked'));
    assert.equal(h.calls[0].input.tool_name, 'Bash');
  });

  test('command hooks of settings are told in the stream', async (t) => {
    const s = await stage(t, touch);
    const all = await s.ask('go', { includeHookEvents: true, allowedTools: ['Bash'], settings: { hooks: { PreToolUse: [{ matcher: 'Bash', hooks: [{ type: 'command', command: 'echo from the hook' }] }] } } });
    const [answer] = all.of('system', 'hook_response').filter((m) => m.hook_event === 'PreToolUse');
    assert.match(answer.stdout, /from the hook/);
    assert.equal(answer.exit_code, 0);
    assert.equal(all.of('system', 'hook_started').length >= 1, true);
  });
});
