// SPDX-License-Identifier: Apache-2.0
//
// exits HOW: panics that unwind and end the program by an exit: in main, in a destructor,
// in a thread that main waits for. Compiled by its test, where there is a compiler.
struct Ledger;

impl Drop for Ledger {
    fn drop(&mut self) {
        panic!("cannot close the ledger");
    }
}

fn main() {
    match std::env::args().nth(1).as_deref() {
        Some("thread") => {
            let clerk = std::thread::spawn(|| vec![1, 2, 3][std::env::args().count() + 5]);
            println!("{}", clerk.join().unwrap());
        }
        Some("drop") => drop(Ledger),
        _ => panic!("page {} is missing", 7),
    }
}
