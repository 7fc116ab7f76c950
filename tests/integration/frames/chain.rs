// SPDX-License-Identifier: Apache-2.0
//
// A chain of calls to a write that fails.

// What is passed, of which the compiler knows no more; Debian 12's rustc has none.
#[inline(always)]
fn black_box<T>(mut value: T) -> T {
    unsafe { std::arch::asm!("/* {0} */", in(reg) &mut value, options(nostack)) };
    value
}

#[inline(never)]
fn poke(at: usize, n: u64) -> u64 {
    let p = at as *mut u64;
    unsafe {
        p.write_volatile(n);
    }
    n
}

#[inline(never)]
fn deeper(depth: u64, at: usize) -> u64 {
    let room = black_box([depth; 7]);
    let below = if depth == 0 { poke(at, room[3]) } else { deeper(depth - 1, at) };
    below + black_box(room)[2]
}

fn main() {
    println!("{}", deeper(9, std::env::args().count() - 1));
}
