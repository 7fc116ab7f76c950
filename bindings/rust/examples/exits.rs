// SPDX-License-Identifier: Apache-2.0
//
// Panics in the way that its argument names. What unwinds out of main ends it by
// exit(101), and is reported.
struct Ledger;

impl Drop for Ledger {
    fn drop(&mut self) {
        panic!("cannot close the ledger");
    }
}

fn close_ledger() {
    drop(Ledger);
}

fn find_page(pages: &[u32], page: usize) -> u32 {
    pages[page]
}

fn main() {
    crashhook::Options::new().release("1.4.2").install().ok();
    crashhook::report_fatal_panics();
    match std::env::args().nth(1).as_deref() {
        Some("drop") => close_ledger(),
        Some("thread") => std::thread::spawn(|| find_page(&[], 7)).join().map(|_| ()).unwrap(),
        Some("caught") => std::panic::catch_unwind(close_ledger).unwrap_or(()),
        _ => println!("{}", find_page(&[], 7)),
    }
}
