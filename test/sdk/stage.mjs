// What every case of the suite stands on: a scripted model of its own, a folder of its own, and the library.
//
// GOFER_SDK_STAGE    where scripted models are had (sdk_test.go of the project serves them)
// GOFER_SDK_BINARY   the program to drive
// GOFER_SDK_CLI      another program to drive with the same suite, for comparison
// GOFER_SDK_SCRATCH  where the folders go
import { mkdirSync, mkdtempSync, realpathSync, readFileSync, existsSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test as plain } from 'node:test';
import { query } from '@anthropic-ai/claude-agent-sdk';

const door = process.env.GOFER_SDK_STAGE;
const other = process.env.GOFER_SDK_CLI;

// real says that the suite drives the other program. A case that expects something else there says so, with the reason.
export const real = Boolean(other);

// oneShot is the only model that all programs of the suite take in the same way.
export const model = 'claude-sonnet-4-5';

// test is a case that does not wait for ever.
export function test(name, ...rest) {
  const [options, run] = rest.length > 1 ? rest : [{}, rest[0]];
  return plain(name, { timeout: real ? 300_000 : 60_000, ...options }, run);
}

async function serve(script) {
  // The other program's requests hold roles that the strict server refuses for this model.
  const answer = await fetch(door, { method: 'POST', body: (real ? 'strict off\n' : '') + script });
  if (!answer.ok) throw new Error(`the script is wrong: ${await answer.text()}`);
  return (await answer.json()).url;
}

// A stage is one case's world.
export async function stage(t, script, files = {}) {
  const dir = realpathSync(mkdtempSync(join(process.env.GOFER_SDK_SCRATCH ?? tmpdir(), 'case-')));
  const home = join(dir, 'home');
  const project = join(dir, 'project');
  mkdirSync(home);
  mkdirSync(project);
  for (const [name, text] of Object.entries(files)) {
    const path = join(name.startsWith('~/') ? home : project, name.replace(/^~\//, ''));
    mkdirSync(join(path, '..'), { recursive: true });
    writeFileSync(path, text);
  }
  const url = await serve(script);
  const env = {
    PATH: process.env.PATH, HOME: home, TMPDIR: dir, SHELL: '/bin/sh', ANTHROPIC_BASE_URL: url, ANTHROPIC_API_KEY: 'any',
    CLAUDE_CODE_MAX_RETRIES: '0', GOFER_TEST_MAIN: '1', GORACE: process.env.GORACE ?? '', IS_SANDBOX: '1',
    CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: '1', DISABLE_AUTOUPDATER: '1',
  };
  const said = [];
  const s = {
    dir, home, project, env, url,
    stderr: () => said.join(''),
    config: join(home, '.claude'),
    read: (name) => readFileSync(join(project, name), 'utf8'),
    exists: (name) => existsSync(join(project, name)),
    // requests are the bodies that the model got: those for an answer, not those of side work.
    async requests() {
      const list = await (await fetch(`${door}?url=${encodeURIComponent(url)}`)).json();
      return list.map((r) => ({ ...r, text: JSON.stringify(r.body) }));
    },
    options(more = {}) {
      return {
        pathToClaudeCodeExecutable: other ?? process.env.GOFER_SDK_BINARY, cwd: project, env: { ...env, ...more.env }, model,
        stderr: (text) => said.push(text), ...more, ...(more.env ? { env: { ...env, ...more.env } } : {}),
      };
    },
    query(prompt, more) {
      const q = query({ prompt, options: s.options(more) });
      t.after(() => q.close());
      return q;
    },
    // ask runs one prompt to its end and returns all messages.
    async ask(prompt, more) {
      const messages = [];
      try {
        for await (const m of s.query(prompt, more)) messages.push(m);
      } catch (error) {
        messages.error = error;
      }
      return Object.assign(messages, {
        init: messages.find((m) => m.type === 'system' && m.subtype === 'init'),
        result: messages.findLast((m) => m.type === 'result'),
        of: (type, subtype) => messages.filter((m) => m.type === type && (subtype === undefined || m.subtype === subtype)),
      });
    },
    // talk opens a conversation: say sends a prompt, next reads up to a message, end closes it.
    talk(more) {
      const line = channel();
      const q = s.query(line, more);
      const talk = {
        query: q, seen: [],
        say(text, extra = {}) {
          line.push({ type: 'user', message: { role: 'user', content: text }, parent_tool_use_id: null, session_id: '', ...extra });
        },
        async next(type, subtype) {
          const wanted = typeof type === 'function' ? type : (m) => m.type === type && (subtype === undefined || m.subtype === subtype);
          for (;;) {
            const { value, done } = await q.next();
            if (done) throw new Error(`the stream ended before ${type} ${subtype ?? ''}: ${s.stderr()}`);
            talk.seen.push(value);
            if (wanted(value)) return value;
          }
        },
        async exchange(text, extra) {
          talk.say(text, extra);
          return talk.next('result');
        },
        async end() {
          line.close();
          try {
            for await (const m of q) talk.seen.push(m);
          } catch (error) {
            // The library throws when the last result of a conversation was an error, as it says.
            if (!talk.seen.findLast((m) => m.type === 'result')?.is_error) throw error;
          }
        },
      };
      return talk;
    },
  };
  return s;
}

// channel is an endless list that is filled while it is read.
function channel() {
  const waiting = [];
  const items = [];
  let closed = false;
  return {
    push(item) {
      const next = waiting.shift();
      if (next) next({ value: item, done: false });
      else items.push(item);
    },
    close() {
      closed = true;
      for (const next of waiting.splice(0)) next({ value: undefined, done: true });
    },
    [Symbol.asyncIterator]() {
      return {
        next() {
          if (items.length > 0) return Promise.resolve({ value: items.shift(), done: false });
          if (closed) return Promise.resolve({ value: undefined, done: true });
          return new Promise((resolve) => waiting.push(resolve));
        },
        return() {
          closed = true;
          return Promise.resolve({ value: undefined, done: true });
        },
      };
    },
  };
}

// toolResults are the results of calls that a stream shows.
export function toolResults(messages) {
  return messages.filter((m) => m.type === 'user' && Array.isArray(m.message.content))
    .flatMap((m) => m.message.content.filter((b) => b.type === 'tool_result'));
}

// textOf is the text of a result of a tool.
export function textOf(result) {
  return typeof result.content === 'string' ? result.content : result.content.map((b) => b.text ?? '').join('');
}

// lastUser is what the user said last in a request, without what a harness adds.
export function lastUser(body) {
  const m = body.messages.findLast((x) => x.role === 'user');
  return typeof m.content === 'string' ? m.content : m.content.map((b) => b.text ?? '').join('\n');
}
