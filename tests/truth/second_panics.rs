// SPDX-License-Identifier: Apache-2.0
//
// Panics that end the program because another one cannot unwind: what the first one said
// is in the report as well.
//
// all signal: ABRT
// all kind: panic
// all in: -

// case callback
//   says: Rust panic at .*: panic in a function that cannot unwind; panic under way: the
//     callback got 3
#[inline(never)]
extern "C" fn callback(number: usize) -> usize {
    if number > 2 {
        panic!("the callback got {}", number);
    }
    number
}

struct Ledger {
    pages: Vec<usize>,
}

impl Drop for Ledger {
    fn drop(&mut self) {
        println!("{}", self.pages[std::env::args().count() + 5]);
    }
}

// case cleanup
//   says: Rust panic at .*: panic in a destructor during cleanup; panic under way: .*
//   shows: the order has no number
#[inline(never)]
fn cleanup() {
    let _ledger = Ledger { pages: vec![1, 2] };
    let number: Option<usize> = std::env::args().nth(9).map(|text| text.len());
    println!("{}", number.expect("the order has no number"));
}

fn main() {
    let case = std::env::args().nth(1).unwrap();
    if case == "callback" {
        println!("{}", callback(std::env::args().count() + 1));
    } else {
        cleanup();
    }
}
