// SPDX-License-Identifier: Apache-2.0
//
// ends HOW: panics that no function may catch, because they may not unwind or reach code
// that may not be left by one.

#[inline(never)]
extern "C" fn called_by_c(price: Option<&i64>) -> i64 {
    *price.expect("a price") // panics here
}

#[inline(never)]
fn checked() {
    unsafe { std::ptr::null_mut::<i32>().write_volatile(1) }
}

fn main() {
    let how = std::env::args().nth(1).unwrap();
    crashhook::Options::new().release("1.4.2").install().unwrap();
    crashhook::set_panic_hook();
    let _tag = crashhook::ScopedTag::new("stage", "pricing");
    match how.as_str() {
        "plain" => panic!("as it is"),
        "extern" => println!("{}", called_by_c(Vec::new().first())),
        _ => checked(),
    }
}
