// Who may do what: the callback, rules, modes.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe } from 'node:test';
import { real, stage, test, textOf, toolResults } from './stage.mjs';

const touch = 'turn\ncall Bash {"command":"touch asked","description":"make a file"}\nturn\ntext done\n';

export default () => describe('permissions', { concurrency: 4 }, () => {
  test('the callback allows', async (t) => {
    const s = await stage(t, touch);
    const asked = [];
    const all = await s.ask('go', { canUseTool: async (name, input, context) => {
      asked.push({ name, input, context });
      return { behavior: 'allow', updatedInput: input };
    } });
    assert.equal(all.result.subtype, 'success');
    assert.ok(s.exists('asked'));
    assert.equal(asked.length, 1);
    assert.equal(asked[0].name, 'Bash');
    assert.equal(asked[0].input.command, 'touch asked');
    assert.ok(asked[0].context.toolUseID.length > 0);
    assert.ok(asked[0].context.signal instanceof AbortSignal);
    assert.ok(asked[0].context.suggestions.length > 0);
    assert.equal(all.result.num_turns, 2);
  });

  test('the callback denies', async (t) => {
    const s = await stage(t, touch);
    const all = await s.ask('go', { canUseTool: async () => ({ behavior: 'deny', message: 'not on my watch' }) });
    assert.equal(all.result.subtype, 'success');
    assert.ok(!s.exists('asked'));
    const [result] = toolResults(all);
    assert.equal(result.is_error, true);
    assert.equal(textOf(result), 'not on my watch');
    assert.equal(all.result.permission_denials[0].tool_name, 'Bash');
    assert.deepEqual(all.result.permission_denials[0].tool_input.command, 'touch asked');
  });

  test('the callback changes the input', async (t) => {
    const s = await stage(t, touch);
    await s.ask('go', { canUseTool: async (_, input) => ({ behavior: 'allow', updatedInput: { ...input, command: 'touch other' } }) });
    assert.ok(s.exists('other') && !s.exists('asked'));
  });

  test('the callback interrupts', async (t) => {
    const s = await stage(t, touch);
    const all = await s.ask('go', { canUseTool: async () => ({ behavior: 'deny', message: 'stop', interrupt: true }) });
    assert.equal(all.result.subtype, 'error_during_execution');
    assert.equal(all.result.terminal_reason, 'aborted_tools');
    assert.equal((await s.requests()).length, 1);
  });

  test('a callback that throws denies', async (t) => {
    const s = await stage(t, touch);
    const all = await s.ask('go', { canUseTool: async () => { throw new Error('broken callback'); } });
    assert.ok(!s.exists('asked'));
    assert.match(textOf(toolResults(all)[0]), /broken callback/);
  });

  test('an answer for always is kept', async (t) => {
    const s = await stage(t, 'turn\ncall Bash {"command":"touch a"}\nturn\ncall Bash {"command":"touch b"}\nturn\ntext done\n');
    let asked = 0;
    await s.ask('go', { settingSources: ['local'], canUseTool: async (_, input) => {
      asked++;
      return { behavior: 'allow', updatedInput: input, updatedPermissions: [{ type: 'addRules', behavior: 'allow', destination: 'localSettings', rules: [{ toolName: 'Bash', ruleContent: 'touch:*' }] }] };
    } });
    assert.equal(asked, 1);
    assert.ok(s.exists('b'));
    assert.match(readFileSync(join(s.project, '.claude', 'settings.local.json'), 'utf8'), /touch/);
  });

  test('without a callback what would be asked for is denied', async (t) => {
    const s = await stage(t, touch);
    const all = await s.ask('go');
    assert.ok(!s.exists('asked'));
    assert.equal(all.result.permission_denials.length, 1);
  });

  test('nobody is asked where prompts are switched off', async (t) => {
    const s = await stage(t, touch);
    const all = await s.ask('go', { permissionPrompts: 'none' });
    assert.ok(!s.exists('asked'));
    assert.equal(all.result.permission_denials.length, 1);
  });

  test('rules on the command line', async (t) => {
    const s = await stage(t, 'turn\ncall Bash {"command":"touch a"}\ncall Bash {"command":"mkdir b"}\nturn\ntext done\n');
    const all = await s.ask('go', { allowedTools: ['Bash(touch:*)'], disallowedTools: ['WebFetch'] });
    assert.ok(s.exists('a') && !s.exists('b'));
    assert.ok(!all.init.tools.includes('WebFetch'));
  });

  test('the choice of tools', async (t) => {
    const s = await stage(t, 'turn\ntext a\nturn\ntext b\nturn\ntext c\n');
    const names = async (tools) => (await s.ask('go', { tools })).init.tools;
    assert.deepEqual((await names(['Read', 'Edit'])).sort(), ['Edit', 'Read']);
    assert.deepEqual(await names([]), []);
    assert.ok((await names({ type: 'preset', preset: 'claude_code' })).includes('Bash'));
  });

  test('modes: edits are accepted, everything passes, plans are only made', async (t) => {
    const write = 'turn\ncall Write {"file_path":"{{last_user}}/new.txt","content":"x"}\nturn\ntext done\n';
    const inMode = async (permissionMode, more = {}) => {
      const s = await stage(t, write);
      const all = await s.ask(s.project, { permissionMode, systemPrompt: 'x', settingSources: [], ...more });
      return { s, all };
    };
    assert.ok((await inMode('acceptEdits')).s.exists('new.txt'));
    assert.ok((await inMode('bypassPermissions', { allowDangerouslySkipPermissions: true })).s.exists('new.txt'));
    const plan = await inMode('plan');
    assert.ok(!plan.s.exists('new.txt'));
    assert.equal(plan.all.init.permissionMode, 'plan');
    assert.ok(!(await inMode('dontAsk')).s.exists('new.txt'));
  });

  test('a question to the person is answered by the program', async (t) => {
    const s = await stage(t, `turn
call AskUserQuestion {"questions":[{"question":"Which colour?","header":"Colour","multiSelect":false,"options":[{"label":"Red","description":"r"},{"label":"Blue","description":"b"}]}]}
turn
text {{result}}
`);
    const all = await s.ask('go', { canUseTool: async (name, input) => {
      assert.equal(name, 'AskUserQuestion');
      return { behavior: 'allow', updatedInput: { ...input, answers: { 'Which colour?': 'Blue' } } };
    } });
    assert.match(all.result.result, /Blue/);
  });

  test('a plan is approved by the program', async (t) => {
    const s = await stage(t, `turn
call ExitPlanMode {"plan":"first this, then that"}
turn
call Write {"file_path":"{{first_user}}/new.txt","content":"x"}
turn
text done
`);
    const asked = [];
    const all = await s.ask(s.project, { permissionMode: 'plan', systemPrompt: 'x', settingSources: [], canUseTool: async (name, input) => {
      asked.push(name);
      return { behavior: 'allow', updatedInput: input };
    } });
    assert.deepEqual(asked, ['ExitPlanMode', 'Write']);
    assert.ok(s.exists('new.txt'));
    assert.ok(all.of('system', 'status').some((m) => m.permissionMode === 'default'));
  });

  test('a tool of a server answers for permissions', { skip: real && 'covered for gofer; the other program needs its own server start' }, async (t) => {
    const s = await stage(t, touch);
    const { createSdkMcpServer, tool } = await import('@anthropic-ai/claude-agent-sdk');
    const { z } = await import('zod');
    const seen = [];
    const keeper = createSdkMcpServer({ name: 'keeper', version: '1', tools: [
      tool('allowed', 'may it run', { tool_name: z.string(), input: z.record(z.string(), z.any()), tool_use_id: z.string().optional() }, async (args) => {
        seen.push(args.tool_name);
        return { content: [{ type: 'text', text: JSON.stringify({ behavior: 'allow', updatedInput: args.input }) }] };
      }),
    ] });
    await s.ask('go', { mcpServers: { keeper }, permissionPromptToolName: 'mcp__keeper__allowed' });
    assert.deepEqual(seen, ['Bash']);
    assert.ok(s.exists('asked'));
  });
});
