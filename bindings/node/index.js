// SPDX-License-Identifier: Apache-2.0
//
// Reports of exceptions that end a Node program: `require('crashhook').reportExceptions()`.
// The words are left in the spool, in the form of docs/formats/exit_words.md, and
// `crashhook list`, `upload` or `run` make the report.
'use strict';

const fs = require('fs');
const path = require('path');

// FRAMES_MOST is how many frames of an exception a reader takes.
const FRAMES_MOST = 96;

// setting is a variable, or what the program gave.
function setting(options, name) {
  return process.env[`CRASHHOOK_${name.toUpperCase()}`] || options[name];
}

// spool is the folder, as the library finds it.
function spool(options) {
  const state = process.env.XDG_STATE_HOME || '';
  if (setting(options, 'spool')) return setting(options, 'spool');
  if (process.geteuid() === 0) return '/var/lib/crashhook';
  if (state.startsWith('/')) return path.join(state, 'crashhook');
  return path.join(process.env.HOME || '/', '.local/state/crashhook');
}

// startTicks is the clock tick in which the process began.
function startTicks() {
  const line = fs.readFileSync('/proc/self/stat', 'latin1');
  return BigInt(line.slice(line.lastIndexOf(')') + 2).split(' ')[19]);
}

// typeOf is the class of an exception: classes that do not set their name have Error's.
function typeOf(error) {
  if (!(error instanceof Error)) return error === null ? 'null' : typeof error;
  const named = error.constructor && error.constructor.name;
  return (error.name !== 'Error' && error.name) || named || 'Error';
}

// frames reads the lines of a stack, innermost first:
//   at login (/srv/shop/login.js:12:9), at async Shop.open (file:///srv/shop/shop.mjs:4:3),
//   at /srv/shop/main.js:2:1
function frames(stack) {
  const found = [];
  for (const line of stack.split('\n')) {
    const named = /^\s+at (?:async )?(.+?)(?: \[as [^\]]*\])? \((.+):(\d+):\d+\)$/.exec(line);
    const bare = /^\s+at (?:async )?(.+):(\d+):\d+$/.exec(line);
    const [name, file, at] = named ? named.slice(1) : bare ? ['(anonymous)', bare[1], bare[2]] : [];
    if (file !== undefined && found.length < FRAMES_MOST)
      found.push(`frame: ${name.replace(/^Object\./, '')} at ${file.replace(/^file:\/\//, '')}:${at}`);
  }
  return found;
}

function words(options, error) {
  const stack = error instanceof Error && error.stack ? String(error.stack) : String(error);
  const head = {
    kind: 'uncaught-exception',
    pid: process.pid,
    status: 1,
    executable: process.execPath,
    home: process.env.HOME,
    release: setting(options, 'release'),
    environment: setting(options, 'environment'),
    tags: setting(options, 'tags'),
    kills: process.env.CRASHHOOK_KILLS,
    message: error instanceof Error ? `${typeOf(error)}: ${error.message}` : String(error),
    type: typeOf(error),
    language: 'javascript',
  };
  const lines = Object.entries(head)
    .filter(([, value]) => value !== undefined && value !== '')
    .map(([name, value]) => `${name}: ${String(value).replace(/\n/g, ' ')}`);
  return ['crashhook words 1', ...lines, ...frames(stack), '', stack, ''].join('\n');
}

function leave(options, error) {
  const folder = spool(options);
  const hex = (value, digits) => value.toString(16).padStart(digits, '0');
  const name = `last-${hex(startTicks(), 16)}-${hex(process.pid, 8)}.record`;
  const unfinished = path.join(folder, `.${name}.tmp`);
  fs.mkdirSync(folder, { recursive: true, mode: 0o700 });
  fs.writeFileSync(unfinished, words(options, error), { mode: 0o600, flag: 'wx' });
  fs.renameSync(unfinished, path.join(folder, name));
}

// reportExceptions has the exception, or the rejected promise, that ends the program
// reported when it has ended; the exit status and what Node prints stay. A program that
// handles 'uncaughtException' goes on, and is not reported. options may give spool,
// release, environment and tags; a CRASHHOOK_* variable that is set takes precedence.
function reportExceptions(options = {}) {
  if (process.env.CRASHHOOK_ENABLE === 'no' || process.getuid() !== process.geteuid()) return;
  process.on('uncaughtExceptionMonitor', (error) => {
    try {
      if (process.listenerCount('uncaughtException') === 0) leave(options, error);
    } catch {
      // The exception is what matters.
    }
  });
}

module.exports = { reportExceptions };
