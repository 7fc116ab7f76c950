// SPDX-License-Identifier: Apache-2.0
//
// panics: an index that is out of bounds, in a program that aborts when it panics.
// Compiled by its test, where there is a compiler.
fn close_ledger(number: usize) -> usize {
    let pages = vec![1usize, 2, 3];
    pages[number]
}

fn main() {
    println!("{}", close_ledger(std::env::args().count() + 5));
}
