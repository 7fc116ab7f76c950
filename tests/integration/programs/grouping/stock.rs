// SPDX-License-Identifier: Apache-2.0
//
// The Rust program of the grouping harness: started like the C ones (ledger.h), built
// with panic=abort.
use std::cell::RefCell;
use std::collections::HashMap;
use std::sync::atomic::{AtomicI64, AtomicUsize, Ordering};

static BAD: AtomicUsize = AtomicUsize::new(0);
static TOTAL: AtomicI64 = AtomicI64::new(0);

fn zero() -> usize {
    black_box(0)
}

fn bad<T>() -> *mut T {
    BAD.load(Ordering::Relaxed) as *mut T
}

fn note(value: i64) {
    TOTAL.fetch_add(value, Ordering::Relaxed);
}

struct Item {
    price: i64,
    name: String,
}

impl Item {
    fn set_price(&mut self, price: i64) {
        unsafe { std::ptr::write_volatile(&mut self.price, price) };
    }

    #[inline(never)]
    fn longest(&self, limit: usize) -> &str {
        &self.name[..limit]
    }
}

fn member_inline() {
    let item = bad::<Item>();
    unsafe { (*item).set_price(black_box(3)) };
}

fn slice_of_name() {
    let item = Item { price: 1, name: String::from("ab") };
    note(item.longest(9 + zero()).len() as i64);
}

#[inline(never)]
fn first_price(items: &[i64], index: usize) -> i64 {
    items[index]
}

fn bounds() {
    note(first_price(&[1, 2, 3], 7 + zero()));
}

#[inline(never)]
fn find_item(table: &HashMap<String, i64>, name: &str) -> i64 {
    *table.get(name).unwrap()
}

fn unwrap_none() {
    note(find_item(&HashMap::new(), "absent"));
}

#[inline(never)]
fn read_count(text: &str) -> i64 {
    text.parse::<i64>().unwrap()
}

fn unwrap_err() {
    note(read_count("no number"));
}

#[inline(never)]
fn load_config(path: &str) -> String {
    std::fs::read_to_string(path).expect("the configuration is there")
}

fn expect_err() {
    note(load_config("/nonexistent/stock.conf").len() as i64);
}

#[inline(never)]
fn check_stock(count: i64) {
    if count < 1 {
        panic!("stock is empty: {}", count);
    }
    if count > 100 {
        panic!("stock is full: {}", count);
    }
    note(count);
}

fn panic_empty() {
    check_stock(zero() as i64);
}

fn panic_full() {
    check_stock(200 + zero() as i64);
}

#[inline(never)]
fn share(total: i64, parts: i64) -> i64 {
    total / parts
}

fn divide() {
    note(share(7, zero() as i64));
}

#[inline(never)]
fn borrow_twice(cell: &RefCell<Item>) {
    let first = cell.borrow_mut();
    let second = cell.borrow_mut();
    note(first.price + second.price);
}

fn refcell() {
    borrow_twice(&RefCell::new(Item { price: 1, name: String::new() }));
}

#[inline(never)]
fn compare(left: i64, right: i64) {
    assert_eq!(left, right, "prices differ");
}

fn assert_equal() {
    compare(1, 2 + zero() as i64);
}

trait Priced {
    fn price(&self) -> i64;
}

impl Priced for Item {
    #[inline(never)]
    fn price(&self) -> i64 {
        unsafe { std::ptr::read_volatile(bad::<i64>()) + self.price }
    }
}

fn trait_method() {
    let item: Box<dyn Priced> = Box::new(Item { price: 1, name: String::new() });
    note(black_box(item).price());
}

impl Drop for Basket {
    #[inline(never)]
    fn drop(&mut self) {
        unsafe { std::ptr::write_volatile(bad::<i64>(), self.count) };
    }
}

struct Basket {
    count: i64,
}

fn drop_method() {
    drop(black_box(Basket { count: 3 }));
}

fn in_closure() {
    let add = |item: *mut Item| unsafe { std::ptr::write_volatile(&mut (*item).price, 7) };
    black_box(add)(bad::<Item>());
}

#[inline(never)]
fn sort_items(items: &mut Vec<usize>) {
    items.sort_by(|_, _| {
        note(unsafe { std::ptr::read_volatile(bad::<i64>()) });
        std::cmp::Ordering::Less
    });
}

fn sort_closure() {
    sort_items(&mut vec![1, 2, 3]);
}

#[inline(never)]
fn count_down(depth: usize) -> usize {
    let frame = black_box([depth; 32]);
    count_down(depth + 1) + frame[depth & 31]
}

#[allow(unconditional_recursion)]
fn deep() {
    note(count_down(0) as i64);
}

fn fail_with(why: &str) -> ! {
    eprintln!("stock: {}", why);
    std::process::abort()
}

#[inline(never)]
fn open_store(path: &str) {
    if !path.starts_with('/') {
        fail_with("no path");
    }
    note(1);
}

fn abort_open() {
    open_store("x");
}

#[inline(never)]
fn save_store(count: usize) {
    if count == 0 {
        fail_with("nothing to save");
    }
    note(1);
}

fn abort_save() {
    save_store(zero());
}

const BUGS: &[(&str, &str, fn())] = &[
    ("member_inline", "stock::Item::set_price", member_inline),
    ("slice_of_name", "stock::Item::longest", slice_of_name),
    ("bounds", "stock::first_price", bounds),
    ("unwrap_none", "stock::find_item", unwrap_none),
    ("unwrap_err", "stock::read_count", unwrap_err),
    ("expect_err", "stock::load_config", expect_err),
    ("panic_empty", "stock::check_stock", panic_empty),
    ("panic_full", "stock::check_stock", panic_full),
    ("divide", "stock::share", divide),
    ("refcell", "stock::borrow_twice", refcell),
    ("assert_equal", "stock::compare", assert_equal),
    ("trait_method", "stock::Item", trait_method),
    ("drop_method", "stock::Basket", drop_method),
    ("in_closure", "stock::in_closure", in_closure),
    ("sort_closure", "stock::sort_items", sort_closure),
    ("deep", "stock::count_down", deep),
    ("abort_open", "stock::open_store", abort_open),
    ("abort_save", "stock::save_store", abort_save),
];

#[inline(never)]
fn descend(depth: usize, run: fn()) {
    if black_box(depth) > 0 {
        descend(depth - 1, run);
    } else {
        run();
    }
    note(depth as i64);
}

// What is passed, of which the compiler knows no more; Debian 12's rustc has none.
#[inline(always)]
fn black_box<T>(mut value: T) -> T {
    unsafe { std::arch::asm!("/* {0} */", in(reg) &mut value, options(nostack)) };
    value
}

fn main() {
    let words: Vec<String> = std::env::args().collect();
    let number = |at: usize| words.get(at).and_then(|word| word.parse::<usize>().ok());
    if words.len() < 2 {
        for (name, place, _) in BUGS {
            println!("{}:{}", name, place);
        }
        return;
    }
    let address = words.get(4).map_or("0", |word| word.trim_start_matches("0x"));
    BAD.store(usize::from_str_radix(address, 16).unwrap(), Ordering::Relaxed);
    for _ in 0..number(3).unwrap_or(0) {
        std::thread::spawn(|| loop {
            std::thread::park();
        });
    }
    for (name, _, run) in BUGS {
        if *name == words[1] {
            descend(number(2).unwrap_or(0), *run);
        }
    }
}
