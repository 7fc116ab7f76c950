// SPDX-License-Identifier: Apache-2.0
//
// Panics, or with the argument `crash` writes to where nothing is mapped.
fn total_in_cents(price: Option<&str>) -> i64 {
    price.unwrap().parse().expect("a number") // panics here
}

#[inline(never)]
fn write_nowhere(place: *mut i32) {
    unsafe { place.write_volatile(1) } // crashes here
}

fn main() {
    if let Err(error) = crashhook::Options::new().release("1.4.2").install() {
        eprintln!("crashes are not reported: {error}");
    }
    crashhook::set_panic_hook();
    let _tag = crashhook::ScopedTag::new("stage", "pricing");
    crashhook::breadcrumb(format_args!("order of {}", "pear"));
    if std::env::args().nth(1).as_deref() == Some("crash") {
        write_nowhere(8 as *mut i32);
    }
    println!("{}", total_in_cents(None));
}
