// SPDX-License-Identifier: Apache-2.0
//
//! The native stack of the calling thread with names and lines, by libcrashhook-backtrace.
//!
//! ```no_run
//! let stack = crashhook::backtrace::Backtrace::capture()?;
//! eprintln!("{}", stack.symbolicate()?);
//! # Ok::<(), std::io::Error>(())
//! ```
//!
//! The first capture loads the library: the file that `LIBCRASHHOOK_BACKTRACE` names, or
//! `libcrashhook-backtrace.so.1`. `crashhook/backtrace.h` says what each function promises.

use std::ffi::{c_void, CStr};
use std::fmt;
use std::io;
use std::marker::PhantomData;
use std::os::raw::{c_char, c_int, c_uint};
use std::ptr::null_mut;

use crate::library::{self, Lazy};
use crate::result_of;

const SYMBOLICATION_DEFAULT: c_uint = 7;
const FORMAT_FRIENDLY: c_int = 0;

/// struct crashhook_capture_options.
#[repr(C)]
struct RawOptions {
    size: usize,
    algorithm: c_int,
    limit: usize,
    offset: usize,
    top: usize,
}

/// The beginning of struct crashhook_symbol.
#[repr(C)]
struct RawSymbol {
    image: *const c_void,
    image_index: usize,
    raw_name: *const c_char,
    name: *const c_char,
    offset: i64,
    path: *const c_char,
    line: u32,
    column: u32,
}

/// The beginning of struct crashhook_symbolicated_frame, which has a crashhook_frame first.
#[repr(C)]
struct RawFrame {
    kind: c_int,
    address: u64,
    width: u32,
    omitted: u64,
    symbol: *const RawSymbol,
    is_inline: bool,
}

struct Functions {
    capture: unsafe extern "C" fn(*const RawOptions, *mut *mut c_void) -> c_int,
    destroy: unsafe extern "C" fn(*mut c_void),
    symbolicate:
        unsafe extern "C" fn(*const c_void, *mut c_void, c_uint, *mut *mut c_void) -> c_int,
    destroy_named: unsafe extern "C" fn(*mut c_void),
    count: unsafe extern "C" fn(*const c_void) -> usize,
    at: unsafe extern "C" fn(*const c_void, usize) -> *const RawFrame,
    format: unsafe extern "C" fn(*const c_void, c_int) -> *mut c_char,
    to_json: unsafe extern "C" fn(*const c_void) -> *mut c_char,
    image_name: unsafe extern "C" fn(*const c_void) -> *const c_char,
}

fn load() -> Option<Functions> {
    let library = library::open("LIBCRASHHOOK_BACKTRACE", "libcrashhook-backtrace.so.1")?;
    macro_rules! function {
        ($name:literal) => {
            // SAFETY: the types are those of crashhook/backtrace.h.
            unsafe { std::mem::transmute(library::find(library, concat!($name, "\0"))?) }
        };
    }
    Some(Functions {
        capture: function!("crashhook_backtrace_capture"),
        destroy: function!("crashhook_backtrace_destroy"),
        symbolicate: function!("crashhook_backtrace_symbolicate"),
        destroy_named: function!("crashhook_symbolicated_backtrace_destroy"),
        count: function!("crashhook_symbolicated_backtrace_count"),
        at: function!("crashhook_symbolicated_backtrace_at"),
        format: function!("crashhook_symbolicated_backtrace_format"),
        to_json: function!("crashhook_symbolicated_backtrace_to_json"),
        image_name: function!("crashhook_image_name"),
    })
}

fn functions() -> io::Result<&'static Functions> {
    static LOADED: Lazy<Functions> = Lazy::new();
    LOADED.get(load).ok_or_else(|| {
        io::Error::new(io::ErrorKind::NotFound, "libcrashhook-backtrace.so.1 cannot be loaded")
    })
}

/// A captured stack.
pub struct Backtrace {
    pointer: *mut c_void,
    functions: &'static Functions,
}

// SAFETY: it never changes.
unsafe impl Send for Backtrace {}
unsafe impl Sync for Backtrace {}

impl Backtrace {
    /// Captures the calling thread. The first frame is the calling function.
    #[inline(never)]
    pub fn capture() -> io::Result<Self> {
        let functions = functions()?;
        let options = RawOptions {
            size: std::mem::size_of::<RawOptions>(),
            algorithm: 0,
            limit: 64,
            offset: 1, // this function
            top: 16,
        };
        let mut pointer = null_mut();
        // SAFETY: the options are read before it returns.
        result_of(unsafe { (functions.capture)(&options, &mut pointer) })?;
        Ok(Backtrace { pointer, functions })
    }

    /// The same stack with names, lines and inlined calls.
    pub fn symbolicate(&self) -> io::Result<SymbolicatedBacktrace> {
        let mut pointer = null_mut();
        // SAFETY: no images are those of the backtrace.
        result_of(unsafe {
            (self.functions.symbolicate)(
                self.pointer,
                null_mut(),
                SYMBOLICATION_DEFAULT,
                &mut pointer,
            )
        })?;
        Ok(SymbolicatedBacktrace { pointer, functions: self.functions })
    }
}

impl Drop for Backtrace {
    fn drop(&mut self) {
        // SAFETY: it is used no more.
        unsafe { (self.functions.destroy)(self.pointer) }
    }
}

/// A stack with names, which is printed as people read it.
pub struct SymbolicatedBacktrace {
    pointer: *mut c_void,
    functions: &'static Functions,
}

// SAFETY: it never changes.
unsafe impl Send for SymbolicatedBacktrace {}
unsafe impl Sync for SymbolicatedBacktrace {}

/// A frame, or a call that was inlined into the next one.
pub struct Frame<'a> {
    /// 0 where frames were left out.
    pub address: u64,
    pub is_inline: bool,
    pub function: Option<&'a str>,
    pub file: Option<&'a str>,
    /// 0: not known.
    pub line: u32,
    pub image: Option<&'a str>,
    of: PhantomData<&'a SymbolicatedBacktrace>,
}

/// A string of the library, where it is one of UTF-8.
unsafe fn borrow<'a>(string: *const c_char) -> Option<&'a str> {
    if string.is_null() {
        return None;
    }
    CStr::from_ptr(string).to_str().ok()
}

impl SymbolicatedBacktrace {
    /// The frames, innermost first.
    pub fn frames(&self) -> impl Iterator<Item = Frame<'_>> {
        // SAFETY: what is returned belongs to this value, as do the strings in it.
        let count = unsafe { (self.functions.count)(self.pointer) };
        (0..count).map(move |index| unsafe {
            let frame = &*(self.functions.at)(self.pointer, index);
            let symbol = frame.symbol.as_ref();
            let image = symbol.map_or(std::ptr::null(), |symbol| symbol.image);
            Frame {
                address: frame.address,
                is_inline: frame.is_inline,
                function: symbol.and_then(|symbol| borrow(symbol.name)),
                file: symbol.and_then(|symbol| borrow(symbol.path)),
                line: symbol.map_or(0, |symbol| symbol.line),
                image: if image.is_null() {
                    None
                } else {
                    borrow((self.functions.image_name)(image))
                },
                of: PhantomData,
            }
        })
    }

    /// All that is known, as JSON.
    pub fn to_json(&self) -> String {
        // SAFETY: the string is ours.
        unsafe { take((self.functions.to_json)(self.pointer)) }
    }
}

/// The text of a string that is then freed; empty where there was no memory.
unsafe fn take(string: *mut c_char) -> String {
    extern "C" {
        fn free(memory: *mut c_void);
    }
    if string.is_null() {
        return String::new();
    }
    let text = CStr::from_ptr(string).to_string_lossy().into_owned();
    free(string as *mut c_void);
    text
}

impl fmt::Display for SymbolicatedBacktrace {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        // SAFETY: the string is ours.
        out.write_str(&unsafe { take((self.functions.format)(self.pointer, FORMAT_FRIENDLY)) })
    }
}

impl Drop for SymbolicatedBacktrace {
    fn drop(&mut self) {
        // SAFETY: it is used no more.
        unsafe { (self.functions.destroy_named)(self.pointer) }
    }
}
