// SPDX-License-Identifier: Apache-2.0
//
// Panics that abort, and aborts that are no panics.
//
// all signal: ABRT
// all flags: -C panic=abort

extern "C" {
    fn abort() -> !;
    fn raise(signal: i32) -> i32;
}

// case panics
//   kind: panic
//   says: Rust panic.*in panics::panics|Rust panic at .*panics.rs
#[inline(never)]
fn panics() {
    panic!("no such page: {}", std::env::args().count());
}

// case unwraps
//   kind: panic
//   says: Rust panic.*in panics::unwraps|Rust panic at .*panics.rs
#[inline(never)]
fn unwraps() {
    let none: Option<usize> = std::env::args().nth(7).map(|text| text.len());
    println!("{}", none.unwrap());
}

// case bounds
//   kind: panic
//   says: Rust panic.*in panics::bounds|Rust panic at .*panics.rs
#[inline(never)]
fn bounds() {
    let items = vec![1, 2, 3];
    println!("{}", items[std::env::args().count() + 5]);
}

// case c_abort
//   kind: abort
//   says: The program aborted$
#[inline(never)]
fn c_abort() {
    unsafe { abort() }
}

// case own_abort
//   kind: abort
//   says: The program aborted$
#[inline(never)]
fn own_abort() {
    std::process::abort()
}

// case raised
//   kind: abort|sent-by-process
//   says: The program aborted$|SIGABRT raised
//   in: main
#[inline(never)]
fn raised() {
    unsafe {
        raise(6);
    }
}

// case null_write
//   signal: SEGV
//   kind: null-dereference
//   says: Write to 0x0, through a null pointer
//   access: write 4 0x0
#[inline(never)]
fn null_write() {
    let p = black_box(0usize) as *mut u32;
    unsafe { p.write_volatile(5) }
}

// case small_read
//   signal: SEGV
//   kind: unknown
//   says: Read from 0x40, a small number and not an address
//   access: read 4 0x40
#[inline(never)]
fn small_read() {
    let p = black_box(64usize) as *mut u32;
    unsafe {
        println!("{}", p.read_volatile());
    }
}

// What is passed, of which the compiler knows no more; Debian 12's rustc has none.
#[inline(always)]
fn black_box<T>(mut value: T) -> T {
    unsafe { std::arch::asm!("/* {0} */", in(reg) &mut value, options(nostack)) };
    value
}

fn main() {
    match std::env::args().nth(1).unwrap().as_str() {
        "panics" => panics(),
        "unwraps" => unwraps(),
        "bounds" => bounds(),
        "c_abort" => c_abort(),
        "own_abort" => own_abort(),
        "raised" => raised(),
        "null_write" => null_write(),
        "small_read" => small_read(),
        _ => (),
    }
}
