// SPDX-License-Identifier: Apache-2.0
//
//! The functions of libcrashhook: linked, with the feature `vendored` or `link`, else loaded once.

use std::ffi::{c_void, CStr, CString};
use std::os::raw::{c_char, c_int};
use std::ptr::null_mut;
use std::sync::atomic::{AtomicPtr, Ordering};
use std::sync::Once;

extern "C" {
    fn dlopen(path: *const c_char, flags: c_int) -> *mut c_void;
    fn dlsym(library: *mut c_void, name: *const c_char) -> *mut c_void;
}

/// Loads the library that a variable names, else the one of the usual name, for ever.
pub fn open(variable: &str, name: &str) -> Option<*mut c_void> {
    const RTLD_NOW: c_int = 2;
    let named = std::env::var(variable).ok();
    let path = CString::new(named.as_deref().unwrap_or(name)).ok()?;
    // SAFETY: the libraries may be loaded at any time.
    let library = unsafe { dlopen(path.as_ptr(), RTLD_NOW) };
    (!library.is_null()).then_some(library)
}

/// Finds a function of a library that `open` returned; its name ends with a NUL.
pub fn find(library: *mut c_void, name: &'static str) -> Option<*mut c_void> {
    let name = CStr::from_bytes_with_nul(name.as_bytes()).ok()?;
    // SAFETY: the library stays.
    let found = unsafe { dlsym(library, name.as_ptr()) };
    (!found.is_null()).then_some(found)
}

/// A value that is made when it is first needed, if that is possible, and never freed.
pub struct Lazy<T> {
    once: Once,
    made: AtomicPtr<T>,
}

impl<T> Lazy<T> {
    pub const fn new() -> Self {
        Lazy { once: Once::new(), made: AtomicPtr::new(null_mut()) }
    }

    pub fn get(&'static self, make: fn() -> Option<T>) -> Option<&'static T> {
        self.once.call_once(|| {
            if let Some(made) = make() {
                self.made.store(Box::into_raw(Box::new(made)), Ordering::Release);
            }
        });
        // SAFETY: it is null, or what was made.
        unsafe { self.made.load(Ordering::Acquire).as_ref() }
    }
}

/// crashhook_before_fn; the crash is a struct crashhook_crash.
pub type Before = extern "C" fn(*const Crash, *mut c_void) -> c_int;

/// The beginning of struct crashhook_crash.
#[repr(C)]
pub struct Crash {
    pub size: usize,
    pub signal: c_int,
}

pub struct Library {
    pub install: unsafe extern "C" fn(*const c_void) -> c_int,
    pub set_tag: unsafe extern "C" fn(*const c_char, *const c_char) -> c_int,
    pub set_data: unsafe extern "C" fn(*const c_char, *const c_char) -> c_int,
    pub breadcrumb: unsafe extern "C" fn(*const c_char),
    pub attach_file: unsafe extern "C" fn(*const c_char, usize) -> c_int,
    pub set_callbacks: unsafe extern "C" fn(Option<Before>, *const c_void, *mut c_void),
    pub report_now: unsafe extern "C" fn(*const c_char) -> c_int,
    pub version: unsafe extern "C" fn() -> *const c_char,
}

#[cfg(is_linked)]
mod source {
    use super::*;

    extern "C" {
        fn crashhook_install(options: *const c_void) -> c_int;
        fn crashhook_set_tag(name: *const c_char, value: *const c_char) -> c_int;
        fn crashhook_set_data(name: *const c_char, value: *const c_char) -> c_int;
        fn crashhook_breadcrumb(message: *const c_char);
        fn crashhook_attach_file(path: *const c_char, tail_bytes: usize) -> c_int;
        fn crashhook_set_callbacks(
            before: Option<Before>,
            after: *const c_void,
            argument: *mut c_void,
        );
        fn crashhook_report_now(why: *const c_char) -> c_int;
        fn crashhook_version() -> *const c_char;
    }

    static LINKED: Library = Library {
        install: crashhook_install,
        set_tag: crashhook_set_tag,
        set_data: crashhook_set_data,
        breadcrumb: crashhook_breadcrumb,
        attach_file: crashhook_attach_file,
        set_callbacks: crashhook_set_callbacks,
        report_now: crashhook_report_now,
        version: crashhook_version,
    };

    impl Library {
        pub fn get() -> Option<&'static Library> {
            Some(&LINKED)
        }
    }
}

#[cfg(not(is_linked))]
mod source {
    use super::*;

    fn load() -> Option<Library> {
        let library = open("LIBCRASHHOOK", "libcrashhook.so.1")?;
        macro_rules! function {
            ($name:literal) => {
                // SAFETY: the types are those of crashhook/crashhook.h.
                unsafe { std::mem::transmute(find(library, concat!($name, "\0"))?) }
            };
        }
        Some(Library {
            install: function!("crashhook_install"),
            set_tag: function!("crashhook_set_tag"),
            set_data: function!("crashhook_set_data"),
            breadcrumb: function!("crashhook_breadcrumb"),
            attach_file: function!("crashhook_attach_file"),
            set_callbacks: function!("crashhook_set_callbacks"),
            report_now: function!("crashhook_report_now"),
            version: function!("crashhook_version"),
        })
    }

    impl Library {
        pub fn get() -> Option<&'static Library> {
            static LOADED: Lazy<Library> = Lazy::new();
            LOADED.get(load)
        }
    }
}
