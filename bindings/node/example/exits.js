// SPDX-License-Identifier: Apache-2.0
//
// Ends by an exception, or with the argument `promise` by a rejected promise, or with
// `handled` by neither.
'use strict';

require('..').reportExceptions({ release: '1.4.2' });

function findPage(pages, page) {
  return pages[page].text; // throws here
}

if (process.argv[2] === 'handled') process.on('uncaughtException', () => {});
if (process.argv[2] === 'promise') Promise.resolve().then(() => findPage([], 7));
else findPage([], 7);
