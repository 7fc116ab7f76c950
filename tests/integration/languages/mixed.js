// SPDX-License-Identifier: Apache-2.0
//
// mixed.js ADDON HOW [ROUNDS]: comes through calls of many kinds to a function of C, which
// crashes. With HOW `trace` it first prints node's own stack there. Before that it makes
// the calls ROUNDS times without the last one, so that they are compiled. With HOW `ruin
// ROUNDS SEED CASES` children crash there instead, each with other words overwritten.
'use strict';
const addon = require(process.argv[2]);
const traced = process.argv[3] === 'trace';
const rounds = Number(process.argv[4] || 0);
Error.stackTraceLimit = 100;
let last = false;

function crash() {
  if (!last) return 1;
  if (process.argv[3] === 'ruin')
    addon.ruin(Number(process.argv[5]), Number(process.argv[6])), process.exit();
  if (traced) console.log(new Error('here').stack); addon.crash();
}

class Shop {
  constructor(items, next) {
    this.items = items;
    this.sum = next();
  }
  get total() {
    return this.items.reduce((sum, item) => sum + größe(item), 0);
  }
  static open(next) {
    return new Shop([1], next).sum;
  }
  #hidden(next) {
    return next.call(this, 2);
  }
  shown(next) {
    return this.#hidden(next);
  }
}

function größe(item) {
  return 価格(item) + 1;
}
function 価格(item) {
  return item && crash();
}
const arrow = () => new Shop([1, 2], () => 0).total;
function recurse(depth) {
  return depth === 0 ? arrow() : recurse(depth - 1);
}
function* generate() {
  yield recurse(3);
}
const table = {
  method() {
    let seen = 0;
    for (const one of generate()) seen += one;
    return seen;
  },
  reads: function () {
    return JSON.parse('[1]', (key, value) => (key === '0' ? table.method() : value))[0];
  },
};
function replaces() {
  return 'a'.replace(/a/, () => String(table.reads()));
}
function sorts() {
  let done = 0;
  [2, 1].sort((a, b) => { done = done || replaces(); return a - b; });
  return done;
}
const bound = sorts.bind(null);
function evaluates() {
  return eval('bound()');
}
function inlined(x) { return evaluates() + x; }
function catches() {
  try { return inlined(1); } finally { last = last && true; }
}
function applies() {
  return Reflect.apply(catches, null, []);
}
function main() {
  return Shop.open(() => new Shop([1], applies).shown(() => applies()));
}

for (let i = 0; i < rounds; i++) main();
last = true;
main();
