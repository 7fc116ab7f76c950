// SPDX-License-Identifier: Apache-2.0
//
//! The functions of libcrashhook: linked, with the feature `vendored` or `link`, else loaded once.

use std::ffi::c_void;
use std::os::raw::{c_char, c_int};

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
    use std::ffi::{CStr, CString};
    use std::sync::atomic::{AtomicPtr, Ordering};
    use std::sync::Once;

    const RTLD_NOW: c_int = 2;

    extern "C" {
        fn dlopen(path: *const c_char, flags: c_int) -> *mut c_void;
        fn dlsym(library: *mut c_void, name: *const c_char) -> *mut c_void;
    }

    fn load() -> Option<Library> {
        let named = std::env::var("LIBCRASHHOOK").ok();
        let path = CString::new(named.as_deref().unwrap_or("libcrashhook.so.1")).ok()?;
        // SAFETY: the library may be loaded at any time; it stays for ever.
        let library = unsafe { dlopen(path.as_ptr(), RTLD_NOW) };
        if library.is_null() {
            return None;
        }
        let find = |name: &'static [u8]| -> Option<*mut c_void> {
            let name = CStr::from_bytes_with_nul(name).ok()?;
            // SAFETY: library is one that dlopen returned.
            let found = unsafe { dlsym(library, name.as_ptr()) };
            (!found.is_null()).then_some(found)
        };
        macro_rules! function {
            ($name:literal) => {
                // SAFETY: the types are those of crashhook/crashhook.h.
                unsafe { std::mem::transmute(find(concat!($name, "\0").as_bytes())?) }
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
            static ONCE: Once = Once::new();
            static LOADED: AtomicPtr<Library> = AtomicPtr::new(std::ptr::null_mut());
            ONCE.call_once(|| {
                if let Some(library) = load() {
                    LOADED.store(Box::into_raw(Box::new(library)), Ordering::Release);
                }
            });
            // SAFETY: it is null, or a library that is never freed.
            unsafe { LOADED.load(Ordering::Acquire).as_ref() }
        }
    }
}
