// SPDX-License-Identifier: Apache-2.0
//
// Ten crashes of Rust, by number.

// black_box is that of std::hint, which Rust 1.63 lacks.
#[inline(never)]
fn black_box<T>(value: T) -> T {
    let hidden = unsafe { std::ptr::read_volatile(&value) };
    std::mem::forget(value);
    hidden
}

struct Item {
    id: i32,
    parts: [i32; 4],
}

#[inline(never)]
unsafe fn write_null(count: i32, at: *mut i32) {
    std::ptr::write_volatile(at, count * 2);
}

#[inline(never)]
unsafe fn beyond(values: *mut i32, at: isize) {
    std::ptr::write_volatile(values.offset(at), 7);
}

#[inline(never)]
unsafe fn of_item(one: *const Item, more: i32) -> i32 {
    std::ptr::read_volatile(&(*one).id) + more
}

#[inline(never)]
fn called(target: fn(i32) -> i32, count: i32) -> i32 {
    target(count) + 1
}

#[inline(never)]
fn end_by(way: i32) -> i32 {
    let mut values = [5i32; 8];
    let one = Item { id: way + 40, parts: [1, 2, 3, 4] };
    unsafe {
        match way % 5 {
            0 => write_null(way + 2, black_box(std::ptr::null_mut())),
            1 => beyond(values.as_mut_ptr(), black_box(400_000_000)),
            2 => return of_item(black_box(std::ptr::null()), way),
            3 => return called(std::mem::transmute::<usize, fn(i32) -> i32>(black_box(0x1230)), way),
            _ => std::process::abort(),
        }
    }
    values[0] + one.id + one.parts[1]
}

#[inline(never)]
fn deep(left: i32, way: i32) -> i32 {
    let here = black_box(left * 3);
    let got = if left > 0 { deep(left - 1, way) } else { end_by(way) };
    here + got
}

fn main() {
    let way: i32 = std::env::args().nth(1).unwrap().parse().unwrap();
    std::process::exit(if way < 5 { end_by(way) } else { deep(4, way) });
}
