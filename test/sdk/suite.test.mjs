// All cases, in one process: the library is large, and the machines that test are small.
import { describe } from 'node:test';
import { real } from './stage.mjs';
import basics from './basics.cases.mjs';
import control from './control.cases.mjs';
import hooks from './hooks.cases.mjs';
import options from './options.cases.mjs';
import permissions from './permissions.cases.mjs';
import servers from './servers.cases.mjs';
import sessions from './sessions.cases.mjs';

describe('the official client library', { concurrency: real ? 1 : 3 }, () => {
  for (const cases of [basics, permissions, hooks, servers, control, sessions, options]) cases();
});
