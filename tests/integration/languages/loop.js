// SPDX-License-Identifier: Apache-2.0
//
// loop.js ADDON: is in a loop that goes over to optimized code while it runs, when it
// crashes there.
'use strict';
const addon = require(process.argv[2]);

function loop() {
  let calls = 0;
  for (let i = 0; i < 1e9; i++) {
    calls += i & 1;
    addon.later(); // crashes here
  }
  return calls;
}

loop();
