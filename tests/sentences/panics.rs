// SPDX-License-Identifier: Apache-2.0
//
// Panics that abort, and aborts that are no panics. With its own assertions Rust 1.85
// and later would panic before a null pointer is written through.
//
// all signal: ABRT
// all flags: -C panic=abort -C debug-assertions=off

extern "C" {
    fn abort() -> !;
    fn raise(signal: i32) -> i32;
}

// case panics
//   kind: panic
//   says: Rust panic at .*panics\.rs:\d+:\d+: no such page: 2, in panics::panics$
#[inline(never)]
fn panics() {
    panic!("no such page: {}", std::env::args().count());
}

// case unwraps
//   kind: panic
//   says: Rust panic at .*panics\.rs:\d+:\d+: called `Option::unwrap\(\)` on a `None`
//     value, in panics::unwraps$
#[inline(never)]
fn unwraps() {
    let none: Option<usize> = std::env::args().nth(7).map(|text| text.len());
    println!("{}", none.unwrap());
}

// case bounds
//   kind: panic
//   says: Rust panic at .*panics\.rs:\d+:\d+: index out of bounds: the len is 3 but the
//     index is 7, in panics::bounds$
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
//   kind: small-pointer
//   says: Read from 0x40, a small number and not an address
//   access: read 4 0x40
#[inline(never)]
fn small_read() {
    let p = black_box(64usize) as *mut u32;
    unsafe {
        println!("{}", p.read_volatile());
    }
}

// case with_backtrace
//   kind: panic
//   says: Rust panic at .*panics\.rs:\d+:\d+: no such page: 2, in panics::with_backtrace$
//   run: RUST_BACKTRACE=1
#[inline(never)]
fn with_backtrace() {
    panic!("no such page: {}", std::env::args().count());
}

// case with_full_backtrace
//   kind: panic
//   says: Rust panic at .*panics\.rs:\d+:\d+: a literal, in panics::with_full_backtrace$
//   run: RUST_BACKTRACE=full
#[inline(never)]
fn with_full_backtrace() {
    panic!("a literal");
}

// case without_backtrace
//   kind: panic
//   says: Rust panic at .*panics\.rs:\d+:\d+: a literal, in panics::without_backtrace$
//   run: RUST_BACKTRACE=0
#[inline(never)]
fn without_backtrace() {
    panic!("a literal");
}

// case expects
//   kind: panic
//   says: Rust panic at .*panics\.rs:\d+:\d+: a number is needed: .*InvalidDigit.*, in
//     panics::expects$
#[inline(never)]
fn expects() {
    let text = std::env::args().nth(1).unwrap();
    println!("{}", text.parse::<u32>().expect("a number is needed"));
}

// case divides
//   kind: panic
//   says: Rust panic at .*panics\.rs:\d+:\d+: attempt to divide by zero, in panics::divides$
#[inline(never)]
fn divides() {
    println!("{}", 7 / (std::env::args().count() - 2));
}

// case slices
//   kind: panic
//   says: Rust panic at .*: range end index 9 out of range for slice of length 3, in
//     panics::slices$
#[inline(never)]
fn slices() {
    let items = vec![1, 2, 3];
    println!("{:?}", &items[..std::env::args().count() + 7]);
}

// case borrows
//   kind: panic
//   says: Rust panic at .*already .*borrowed.*, in panics::borrows$
#[inline(never)]
fn borrows() {
    let cell = std::cell::RefCell::new(5);
    let _first = cell.borrow_mut();
    println!("{}", cell.borrow_mut());
}

// case asserts
//   kind: panic
//   says: Rust panic at .*assertion .*left == right.*, in panics::asserts$
#[inline(never)]
fn asserts() {
    assert_eq!(std::env::args().count(), 5);
}

// case unreachable
//   kind: panic
//   says: Rust panic at .*internal error: entered unreachable code, in
//     panics::unreachable$
#[inline(never)]
fn unreachable() {
    unreachable!();
}

// case in_thread
//   kind: panic
//   says: Rust panic at .*panics\.rs:\d+:\d+: within a thread, in panics::in_thread
//   in: in_thread
#[inline(never)]
fn in_thread() {
    let thread = std::thread::Builder::new().name("reader".to_string());
    let _ = thread.spawn(|| panic!("within a thread")).unwrap().join();
}

// case caught_before
//   kind: abort|panic
//   says: Rust panic at .*panics\.rs:\d+:\d+: the first, in panics::caught_before
#[inline(never)]
fn caught_before() {
    let _ = std::panic::catch_unwind(|| panic!("the first"));
    std::process::abort()
}

// case wild_write
//   signal: SEGV
//   kind: unknown
//   says: Write to 0x123456789000, where nothing is mapped
//   access: write 4 0x123456789000
#[inline(never)]
fn wild_write() {
    let p = black_box(0x123456789000usize) as *mut u32;
    unsafe { p.write_volatile(5) }
}

// What is passed, of which the compiler knows no more; Debian 12's rustc has none.
#[inline(always)]
fn black_box<T>(mut value: T) -> T {
    unsafe { std::arch::asm!("/* {0} */", in(reg) &mut value, options(nostack)) };
    value
}

// case no_memory
//   kind: abort
//   says: The program aborted: memory allocation( of 777 bytes)? failed$
#[inline(never)]
fn no_memory() {
    std::alloc::handle_alloc_error(std::alloc::Layout::new::<[u8; 777]>());
}

// case grows
//   kind: abort
//   says: The program aborted: memory allocation( of \d+ bytes)? failed$
#[inline(never)]
fn grows() {
    let mut items: Vec<u8> = Vec::new();
    items.reserve_exact(1usize << (44 + std::env::args().count()));
    println!("{}", items.capacity());
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
        "with_backtrace" => with_backtrace(),
        "with_full_backtrace" => with_full_backtrace(),
        "without_backtrace" => without_backtrace(),
        "expects" => expects(),
        "divides" => divides(),
        "slices" => slices(),
        "borrows" => borrows(),
        "asserts" => asserts(),
        "unreachable" => unreachable(),
        "in_thread" => in_thread(),
        "caught_before" => caught_before(),
        "wild_write" => wild_write(),
        "no_memory" => no_memory(),
        "grows" => grows(),
        _ => (),
    }
}
