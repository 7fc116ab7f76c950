// SPDX-License-Identifier: Apache-2.0
// A program of Rust's core library alone, so that it stays small. It reads address 8.
#![no_std]
#![no_main]

mod pond {
    pub struct Pond<T> {
        pub depth: T,
    }

    pub trait Water {
        fn flow(&self, from: *const i32) -> i32;
    }

    impl Water for Pond<i32> {
        #[inline(never)]
        fn flow(&self, from: *const i32) -> i32 {
            self.drain(from) + self.depth
        }
    }

    impl<T: Copy> Pond<T> {
        #[inline(never)]
        pub fn drain<U: Copy>(&self, from: *const U) -> U {
            let taken = unsafe { core::ptr::read_volatile(from) }; // crashes here
            unsafe { core::ptr::read_volatile(&taken) }
        }
    }
}

#[inline(never)]
fn visit<F: Fn(usize) -> i32>(garden: F) -> i32 {
    garden(8) + 1
}

#[no_mangle]
pub extern "C" fn main() -> i32 {
    use pond::Water;
    let pond = pond::Pond { depth: 3 };
    visit(|at| pond.flow(at as *const i32) + 2)
}

#[panic_handler]
fn panic(_: &core::panic::PanicInfo) -> ! {
    loop {}
}
