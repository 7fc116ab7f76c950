#!/usr/bin/env node
// SPDX-License-Identifier: Apache-2.0
//
// npx crashhook: the command crashhook, of this package or of PATH.
'use strict';

const { spawnSync } = require('child_process');
const fs = require('fs');
const os = require('os');
const path = require('path');

const own = path.join(__dirname, 'files', 'bin', 'crashhook');
const command = fs.existsSync(own) ? own : '/usr/bin/crashhook';
const ended = spawnSync(command, process.argv.slice(2), { stdio: 'inherit' });
if (ended.error) {
  console.error(`crashhook: cannot start '${command}': ${ended.error.code}`);
  process.exitCode = 1;
} else {
  process.exitCode = ended.signal ? 128 + os.constants.signals[ended.signal] : ended.status;
}
