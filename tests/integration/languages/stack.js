// SPDX-License-Identifier: Apache-2.0
//
// stack.js: prints the functions of its own stack, and aborts there.
'use strict';

class Shop {
  total(order) {
    return order.map((item) => this.price(item));
  }
  price(item) {
    if (item.last) {
      console.log(new Error('here').stack);
      process.abort(); // crashes here
    }
    return item.price;
  }
}

function serve(shop, last) {
  return shop.total([{ price: 1 }, { price: 2, last }]);
}

function main() {
  const shop = new Shop();
  for (let i = 0; i < 5000; i++) serve(shop, false);
  serve(shop, true);
}

main();
