// An editor for tests: the official client of the Agent Client Protocol, around the gofer that GOFER_BINARY names.
import { spawn } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync, realpathSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Readable, Writable } from 'node:stream';
import { createInterface } from 'node:readline';
import * as acp from '@agentclientprotocol/sdk';

export const { methods } = acp;
const program = process.env.GOFER_BINARY;
if (!program) throw new Error('GOFER_BINARY must name the program to test');

// A place is a project and a home of its own, with a scripted model.
export async function place(t, script, files = {}) {
  const root = realpathSync(mkdtempSync(join(tmpdir(), 'gofer-acp-')));
  const project = join(root, 'project');
  mkdirSync(project);
  for (const [name, text] of Object.entries(files)) writeFileSync(join(project, name), text);
  writeFileSync(join(root, 'model.script'), script);
  const env = { ...process.env, HOME: join(root, 'home'), CLAUDE_CONFIG_DIR: '', GOFER_CONFIG_DIR: '', ANTHROPIC_API_KEY: 'any', ANTHROPIC_AUTH_TOKEN: '', CLAUDE_CODE_MAX_RETRIES: '0' };
  const server = spawn(program, ['serve-script', join(root, 'model.script')], { env, stdio: ['ignore', 'pipe', 'inherit'] });
  const running = [];
  t.after(async () => {
    server.kill();
    for (const e of running) {
      e.process.kill('SIGKILL');
      await e.exited;
    }
    rmSync(root, { recursive: true, force: true });
  });
  for await (const line of createInterface(server.stdout)) {
    env.ANTHROPIC_BASE_URL = line.match(/http:\S+/)[0];
    break;
  }
  return { root, project, env, running, file: (name) => join(project, name), read: (name) => readFileSync(join(project, name), 'utf8') };
}

// An Editor is connected to one gofer.
export class Editor {
  updates = [];
  permissions = [];
  choose = (options) => options.find((o) => o.kind === 'allow_once')?.optionId;
  #watchers = [];

  // capabilities is what the editor can do; on are its handlers, by method.
  static async start(t, p, { capabilities = {}, on = {}, args = [], env = {} } = {}) {
    const e = new Editor();
    e.place = p;
    e.process = spawn(program, ['acp', ...args], { env: { ...p.env, ...env }, stdio: ['pipe', 'pipe', 'pipe'] });
    e.stderr = '';
    e.process.stderr.on('data', (d) => (e.stderr += d));
    e.exited = new Promise((done) => e.process.on('exit', (code, signal) => done({ code, signal })));
    p.running.push(e);
    const app = acp.client({ name: 'test-editor' });
    app.onNotification(methods.client.session.update, ({ params }) => e.#heard(params));
    app.onRequest(methods.client.session.requestPermission, async ({ params }) => {
      e.permissions.push(params);
      const optionId = await e.choose(params.options, params);
      return { outcome: optionId === undefined ? { outcome: 'cancelled' } : { outcome: 'selected', optionId } };
    });
    for (const [method, handler] of Object.entries(on)) app.onRequest(method, handler);
    e.connection = app.connect(acp.ndJsonStream(Writable.toWeb(e.process.stdin), Readable.toWeb(e.process.stdout)));
    e.agent = e.connection.agent;
    e.can = await e.agent.request(methods.agent.initialize, { protocolVersion: acp.PROTOCOL_VERSION, clientCapabilities: capabilities });
    return e;
  }

  #heard(params) {
    this.updates.push(params);
    this.#watchers = this.#watchers.filter((w) => !w(params.update, params.sessionId));
  }

  // until waits for an update that fits.
  until(fits) {
    return new Promise((done) => this.#watchers.push((u, id) => fits(u, id) && (done(u), true)));
  }

  async open(more = {}) {
    const s = await this.agent.request(methods.agent.session.new, { cwd: this.place.project, mcpServers: [], ...more });
    return s.sessionId;
  }

  prompt(sessionId, prompt) {
    if (typeof prompt === 'string') prompt = [{ type: 'text', text: prompt }];
    return this.agent.request(methods.agent.session.prompt, { sessionId, prompt });
  }

  of(kind, sessionId) {
    return this.updates.filter((u) => u.update.sessionUpdate === kind && (!sessionId || u.sessionId === sessionId)).map((u) => u.update);
  }

  said(sessionId) {
    return this.of('agent_message_chunk', sessionId).map((u) => u.content.text).join('');
  }

  // close closes the editor's side and waits until gofer is gone.
  async close() {
    this.process.stdin.end();
    return this.exited;
  }
}
