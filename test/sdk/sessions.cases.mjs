// Sessions that go on, copies of them, and the library's own functions on what gofer keeps.
import assert from 'node:assert/strict';
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { tmpdir } from 'node:os';
import { describe } from 'node:test';
import {
  deleteSession, forkSession, getSessionInfo, getSessionMessages, getSubagentMessages, importSessionToStore, InMemorySessionStore, listSessions, listSubagents, renameSession, tagSession,
} from '@anthropic-ai/claude-agent-sdk';
import { real, stage, test } from './stage.mjs';

// The library's functions look where the variable of their own process says; each case has a project of its own in it.
const config = join(process.env.GOFER_SDK_SCRATCH ?? tmpdir(), 'config');
mkdirSync(config, { recursive: true });
process.env.CLAUDE_CONFIG_DIR = config;

const shared = (more = {}) => ({ ...more, env: { CLAUDE_CONFIG_DIR: config, ...more.env } });

export default () => describe('sessions', { concurrency: 4 }, () => {
  test('a session is resumed, and continued', async (t) => {
    const s = await stage(t, 'turn\ntext one\nturn\ntext two\nturn\ntext three\n');
    const first = await s.ask('first');
    const second = await s.ask('second', { resume: first.result.session_id });
    assert.equal(second.result.result, 'two');
    assert.equal(second.result.session_id, first.result.session_id);
    const third = await s.ask('third', { continue: true });
    assert.equal(third.result.result, 'three');
    assert.equal(third.result.session_id, first.result.session_id);
    const body = (await s.requests()).at(-1).text;
    for (const said of ['first', 'second', 'third', 'one', 'two']) assert.ok(body.includes(said), said);
  });

  test('a session is forked', async (t) => {
    const s = await stage(t, 'turn\ntext one\nturn\ntext two\n');
    const first = await s.ask('first');
    const fork = await s.ask('second', { resume: first.result.session_id, forkSession: true });
    assert.notEqual(fork.result.session_id, first.result.session_id);
    assert.equal(fork.result.result, 'two');
    const again = await s.ask('third', { resume: first.result.session_id });
    assert.equal(again.result.result, 'two', 'the source knows nothing of the copy');
  });

  test('a session goes on from an earlier message', async (t) => {
    const s = await stage(t, 'turn\ntext one\nturn\ntext two {{last_user}}\nturn\ntext three\n');
    const talk = s.talk();
    await talk.exchange('a');
    const at = talk.seen.findLast((m) => m.type === 'assistant').uuid;
    await talk.exchange('b');
    const id = talk.seen.at(-1).session_id;
    await talk.end();
    const all = await s.ask('c', { resume: id, resumeSessionAt: at, forkSession: true });
    assert.match(all.result.result, /^two .*c/s);
    assert.ok(!(await s.requests()).at(-1).text.includes('"b"'));
  });

  test('the id and the title are the program’s, and nothing is kept if it wants so', async (t) => {
    const s = await stage(t, 'turn\ntext ok\n');
    const sessionId = crypto.randomUUID();
    const all = await s.ask('go', shared({ sessionId, title: 'My title' }));
    assert.equal(all.result.session_id, sessionId);
    assert.equal((await getSessionInfo(sessionId, { dir: s.project })).customTitle, 'My title');
    const gone = await s.ask('go', shared({ persistSession: false }));
    assert.equal(await getSessionInfo(gone.result.session_id, { dir: s.project }), undefined);
    const twice = await s.ask('go', shared({ sessionId }));
    assert.match(String(twice.error) + s.stderr(), /already in use/);
  });

  test('the library lists and reads what was written', async (t) => {
    const s = await stage(t, 'turn\ncall Bash {"command":"echo hi"}\nturn\ntext the answer\n');
    const all = await s.ask('the question', shared());
    const id = all.result.session_id;
    const [info] = await listSessions({ dir: s.project });
    assert.equal(info.sessionId, id);
    assert.equal(info.firstPrompt, 'the question');
    assert.equal(info.cwd, s.project);
    assert.ok(info.lastModified > 0 && info.createdAt > 0 && info.fileSize > 0);
    const messages = await getSessionMessages(id, { dir: s.project });
    const kinds = messages.map((m) => m.type);
    assert.deepEqual(kinds.filter((k) => k === 'assistant').length, 2);
    assert.match(JSON.stringify(messages[0].message ?? messages[0]), /the question/);
    assert.match(JSON.stringify(messages.at(-1)), /the answer/);
    const streamed = all.of('assistant').map((m) => m.uuid);
    assert.deepEqual(messages.filter((m) => m.type === 'assistant').map((m) => m.uuid), streamed, 'the ids of the stream are those of the record');
    assert.equal((await getSessionMessages(id, { dir: s.project, limit: 1 })).length, 1);
  });

  test('what the library writes is read: title, tag, fork', async (t) => {
    const s = await stage(t, 'turn\ntext one\nturn\ntext two\n');
    const id = (await s.ask('first', shared())).result.session_id;
    await renameSession(id, 'A new name', { dir: s.project });
    await tagSession(id, 'blue', { dir: s.project });
    const byTitle = await s.ask('second', shared({ extraArgs: { resume: 'A new name' } }));
    assert.equal(byTitle.result.session_id, id);
    const info = await getSessionInfo(id, { dir: s.project });
    assert.equal(info.customTitle, 'A new name', 'a turn keeps the title');
    assert.equal(info.tag, 'blue', 'and the tag');
    const fork = await forkSession(id, { dir: s.project, title: 'The copy' });
    const after = await s.ask('third', shared({ resume: fork.sessionId }));
    assert.equal(after.error?.message.includes('turn 3') || after.result.session_id === fork.sessionId, true);
    await deleteSession(id, { dir: s.project });
    assert.equal(await getSessionInfo(id, { dir: s.project }), undefined);
  });

  test('the conversations of agents are read', async (t) => {
    const s = await stage(t, `turn
call Agent {"description":"look","prompt":"Look around.","subagent_type":"general-purpose","run_in_background":false}
turn
text done
section agent
when first_user ~ Look around
turn
text nothing to see
`);
    const id = (await s.ask('go', shared())).result.session_id;
    const agents = await listSubagents(id, { dir: s.project });
    assert.equal(agents.length, 1);
    const messages = await getSubagentMessages(id, agents[0], { dir: s.project });
    assert.match(JSON.stringify(messages), /Look around.*nothing to see/s);
  });

  test('a store of the program gets every record, and a session goes on from it', async (t) => {
    const s = await stage(t, 'turn\ntext one\nturn\ntext two\n');
    const sessionStore = new InMemorySessionStore();
    const first = await s.ask('remember this', shared({ sessionStore }));
    assert.equal(first.error, undefined);
    const id = first.result.session_id;
    const messages = await getSessionMessages(id, { dir: s.project, sessionStore });
    assert.match(JSON.stringify(messages), /remember this.*one/s);
    const second = await s.ask('and now', shared({ sessionStore, resume: id }));
    assert.equal(second.result?.result, 'two', String(second.error) + s.stderr());
    assert.match((await s.requests()).at(-1).text, /remember this/);
    assert.match(JSON.stringify(await getSessionMessages(id, { dir: s.project, sessionStore })), /and now.*two/s);
    const copy = new InMemorySessionStore();
    const plain = (await s.ask('plain', shared())).result.session_id;
    await importSessionToStore(plain, copy, { dir: s.project });
    assert.match(JSON.stringify(await getSessionMessages(plain, { dir: s.project, sessionStore: copy })), /plain/);
  });

  test('what was said before is not said again after a resume of many turns', { skip: real && 'a promise of gofer’s' }, async (t) => {
    const s = await stage(t, 'turn\nrepeat 20\ntext {{n}}\n');
    const talk = s.talk();
    for (let i = 0; i < 5; i++) await talk.exchange(`m${i}`);
    const id = talk.seen.at(-1).session_id;
    await talk.end();
    await s.ask('more', { resume: id });
    const bodies = (await s.requests()).map((r) => r.body.messages.length);
    assert.deepEqual(bodies, [1, 3, 5, 7, 9, 11]);
  });
});
