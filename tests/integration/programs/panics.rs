// SPDX-License-Identifier: Apache-2.0
//
// panics [cleanup|thread|none]: an index that is out of bounds, in a program that aborts
// when it panics, that panics again while it cleans up, or that has another thread panic;
// or the value of what is none. Compiled by its test, where there is a compiler.
struct Ledger(Vec<usize>);

impl Drop for Ledger {
    fn drop(&mut self) {
        if std::env::args().any(|word| word == "cleanup") {
            close_ledger(&self.0, 7);
        }
    }
}

#[inline(never)]
fn close_ledger(pages: &[usize], number: usize) -> usize {
    pages[number]
}

fn main() {
    let ledger = Ledger(vec![1, 2, 3]);
    let number = std::env::args().count() + 5;
    if std::env::args().any(|word| word == "thread") {
        let reader = std::thread::spawn(move || close_ledger(&ledger.0, number));
        let _ = reader.join();
    } else if std::env::args().any(|word| word == "none") {
        println!("{}", ledger.0.iter().find(|page| **page == number).unwrap());
    } else {
        println!("{}", close_ledger(&ledger.0, number));
    }
}
