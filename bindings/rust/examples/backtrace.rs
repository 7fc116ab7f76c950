// SPDX-License-Identifier: Apache-2.0
//
// Logs an error with the stack that led to it.
use std::io;

#[inline(never)]
fn read_order() -> io::Result<()> {
    let stack = crashhook::backtrace::Backtrace::capture()?; // captured here
    let named = stack.symbolicate()?;
    eprint!("the order is empty:\n{named}");
    for frame in named.frames().filter(|frame| frame.line != 0) {
        println!("{} {}", frame.function.unwrap_or("?"), frame.line);
    }
    Ok(())
}

fn main() {
    if let Err(error) = read_order() {
        eprintln!("no backtrace: {error}");
    }
}
