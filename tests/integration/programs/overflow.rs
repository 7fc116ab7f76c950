// SPDX-License-Identifier: Apache-2.0
//
// overflow thread|main|abort: a Rust program that uses up a stack, or aborts.
#[inline(never)]
fn overflow(depth: u64) -> u64 {
    let room = unsafe { std::ptr::read_volatile(&[depth; 64]) };
    overflow(depth + 1) + room[(depth % 64) as usize]
}

#[inline(never)]
fn give_up() {
    std::process::abort();
}

fn main() {
    match std::env::args().nth(1).as_deref() {
        Some("thread") => {
            std::thread::spawn(|| println!("{}", overflow(0))).join().unwrap();
        }
        Some("main") => println!("{}", overflow(0)),
        _ => give_up(),
    }
}
