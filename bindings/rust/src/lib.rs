// SPDX-License-Identifier: Apache-2.0
//
//! Reports of crashes and panics, by libcrashhook.
//!
//! ```no_run
//! crashhook::Options::new().release("1.4.2").install().ok();
//! crashhook::report_fatal_panics();
//! ```
//!
//! `crashhook/crashhook.h` says what each function promises. Those that tell of the
//! program (tags, breadcrumbs) do nothing where the library is not installed.

use std::cell::Cell;
use std::ffi::{c_void, CStr, CString};
use std::fmt;
use std::io;
use std::os::raw::{c_char, c_int};
use std::panic;
use std::sync::Once;

pub mod backtrace;
mod library;
mod words;
use library::Library;

/// The number of members of struct crashhook_options after its size.
const MEMBERS: usize = 42;

/// struct crashhook_options.
#[repr(C)]
struct RawOptions {
    size: usize,
    members: [*const c_char; MEMBERS],
}

/// Settings of the program. A `CRASHHOOK_*` variable that is set takes precedence.
#[derive(Default, Clone)]
pub struct Options {
    members: Vec<(usize, CString)>,
}

macro_rules! options {
    ($($(#[$doc:meta])* $name:ident = $position:expr;)*) => {
        $($(#[$doc])* pub fn $name(self, value: &str) -> Self { self.with($position, value) })*
    };
}

impl Options {
    pub fn new() -> Self {
        Self::default()
    }

    fn with(mut self, position: usize, value: &str) -> Self {
        // A text ends where C takes it to end.
        let text = value.split('\0').next().unwrap_or("");
        self.members.push((position, CString::new(text).unwrap_or_default()));
        self
    }

    fn value(&self, position: usize) -> Option<String> {
        let found = self.members.iter().rev().find(|(at, _)| *at == position)?;
        Some(found.1.to_string_lossy().into_owned()).filter(|value| !value.is_empty())
    }

    options! {
        /// Where reports go.
        url = 0;
        /// File with the collector's token.
        token_file = 1;
        /// Folder where every report lands first.
        spool = 2;
        /// Path of crashhook-agent.
        agent = 3;
        /// The process is never held longer: "30s".
        timeout = 4;
        /// Whether the report is printed: "no", "yes", "tty".
        print = 5;
        /// The program's release.
        release = 6;
        /// Where it runs: "production".
        environment = 7;
        /// "k=v,k=v"
        tags = 8;
        token = 9;
        spool_max = 10;
        signals = 11;
        unwind = 12;
        limit = 13;
        top = 14;
        threads = 15;
        images = 16;
        symbolize = 17;
        hold = 18;
        mode = 19;
        handlers = 20;
        preset = 21;
        arguments = 22;
        sanitize = 23;
        memory = 24;
        own = 25;
        rate = 26;
        log = 27;
        kills = 28;
        starts = 29;
        stacks = 30;
        output = 31;
        format = 32;
        registers = 33;
        demangle = 34;
        color = 35;
        interactive = 36;
        warnings = 37;
        cache = 38;
        /// Whether open descriptors are listed: "auto", "yes", "no".
        descriptors = 39;
        /// "no" masks payment cards, IBANs and e-mail addresses.
        pii = 40;
        /// Whom the program works for: collectors count users.
        user = 41;
    }

    /// Installs the handler, or applies these settings to it.
    pub fn install(&self) -> io::Result<()> {
        words::note(words::Settings {
            spool: self.value(2),
            release: self.value(6),
            environment: self.value(7),
            tags: self.value(8),
        });
        let library = Library::get().ok_or_else(library_missing)?;
        let mut raw = RawOptions {
            size: std::mem::size_of::<RawOptions>(),
            members: [std::ptr::null(); MEMBERS],
        };
        for (position, value) in &self.members {
            raw.members[*position] = value.as_ptr();
        }
        // SAFETY: the library copies the strings before it returns.
        let mut error = unsafe { (library.install)(&raw as *const RawOptions as *const c_void) };
        if error == 22 {
            // A library of the first version knows nine members.
            raw.size = std::mem::size_of::<usize>() * 10;
            error = unsafe { (library.install)(&raw as *const RawOptions as *const c_void) };
        }
        result_of(error)
    }
}

fn library_missing() -> io::Error {
    io::Error::new(io::ErrorKind::NotFound, "libcrashhook.so.1 cannot be loaded")
}

fn result_of(error: c_int) -> io::Result<()> {
    match error {
        0 => Ok(()),
        _ => Err(io::Error::from_raw_os_error(error)),
    }
}

fn text(value: &str) -> CString {
    CString::new(value.replace('\0', " ")).unwrap_or_default()
}

/// Sets a tag, by which reports can be searched; `None` removes it.
pub fn set_tag(name: &str, value: Option<&str>) -> io::Result<()> {
    let library = Library::get().ok_or_else(library_missing)?;
    let value = value.map(text);
    let value = value.as_ref().map_or(std::ptr::null(), |value| value.as_ptr());
    // SAFETY: both strings are copied.
    result_of(unsafe { (library.set_tag)(text(name).as_ptr(), value) })
}

/// Sets a longer text that is shown with the report; `None` removes it.
pub fn set_data(name: &str, value: Option<&str>) -> io::Result<()> {
    let library = Library::get().ok_or_else(library_missing)?;
    let value = value.map(text);
    let value = value.as_ref().map_or(std::ptr::null(), |value| value.as_ptr());
    // SAFETY: both strings are copied.
    result_of(unsafe { (library.set_data)(text(name).as_ptr(), value) })
}

/// Records an event: the last 128 are part of a report.
pub fn breadcrumb(message: impl fmt::Display) {
    if let Some(library) = Library::get() {
        // SAFETY: the string is copied.
        unsafe { (library.breadcrumb)(text(&message.to_string()).as_ptr()) }
    }
}

/// Adds the end of a file to reports: its last `tail_bytes`, 0 for 64 KiB.
pub fn attach_file(path: &str, tail_bytes: usize) -> io::Result<()> {
    let library = Library::get().ok_or_else(library_missing)?;
    // SAFETY: the string is copied.
    result_of(unsafe { (library.attach_file)(text(path).as_ptr(), tail_bytes) })
}

/// Writes a report of the running program, which goes on.
pub fn report_now(why: &str) -> io::Result<()> {
    let library = Library::get().ok_or_else(library_missing)?;
    // SAFETY: the string is copied.
    result_of(unsafe { (library.report_now)(text(why).as_ptr()) })
}

/// The version of the library, if there is one.
pub fn version() -> Option<String> {
    let library = Library::get()?;
    // SAFETY: it is a constant of the library, which is never unloaded.
    let version = unsafe { CStr::from_ptr((library.version)()) };
    Some(version.to_string_lossy().into_owned())
}

/// A tag that is set while this value lives.
pub struct ScopedTag {
    name: String,
}

impl ScopedTag {
    pub fn new(name: &str, value: &str) -> Self {
        set_tag(name, Some(value)).ok();
        ScopedTag { name: name.to_string() }
    }
}

impl Drop for ScopedTag {
    fn drop(&mut self) {
        set_tag(&self.name, None).ok();
    }
}

#[allow(deprecated)] // PanicInfo is what Rust 1.63 has.
fn message_of(info: &panic::PanicInfo<'_>) -> String {
    let payload = info.payload();
    let message = payload
        .downcast_ref::<&str>()
        .map(|text| text.to_string())
        .or_else(|| payload.downcast_ref::<String>().cloned())
        .unwrap_or_else(|| "a value of another type".to_string());
    match info.location() {
        Some(place) => format!("panicked at {place}: {message}"),
        None => format!("panicked: {message}"),
    }
}

/// Reports every panic when it begins, as a live report with all threads, and then calls
/// the hook that was there. A panic that ends the program is also reported as the crash
/// that it is, as by `report_fatal_panics`. A panic that aborts is reported once: as the
/// abort, or where it began to unwind before it reached code that it may not leave, as it
/// began.
pub fn set_panic_hook() {
    static ONCE: Once = Once::new();
    ONCE.call_once(put_panic_hook);
    report_fatal_panics();
}

/// Has a panic that ends the program reported when it has ended, with its message and the
/// stack at the panic; its exit status stays 101. Panics that are caught, or end a thread
/// alone, are not. It needs no library. The settings are those of `Options::install` and
/// the variables. False: it cannot be done here, because the C library has no on_exit.
pub fn report_fatal_panics() -> bool {
    words::report(message_of)
}

/// Whether a panic can unwind. Rust has no stable function for that, but prints it.
#[allow(deprecated)] // PanicInfo is what Rust 1.63 has.
fn can_unwind(info: &panic::PanicInfo<'_>) -> bool {
    let text = format!("{info:?}");
    let value = text.rfind("can_unwind: ").map(|at| &text[at..]);
    cfg!(panic = "unwind") && !value.map_or(false, |value| value.starts_with("can_unwind: false"))
}

/// A crashhook_before_fn: an abort is not reported.
extern "C" fn skip_abort(crash: *const library::Crash, _: *mut c_void) -> c_int {
    const SIGABRT: c_int = 6;
    const REPORT: c_int = 0;
    const SKIP: c_int = 1;
    // SAFETY: the library passes a crash.
    match unsafe { (*crash).signal } {
        SIGABRT => SKIP,
        _ => REPORT,
    }
}

thread_local! {
    /// Whether the thread's last panic was reported.
    static REPORTED: Cell<bool> = Cell::new(false);
}

fn put_panic_hook() {
    let previous = panic::take_hook();
    panic::set_hook(Box::new(move |info| {
        let message = message_of(info);
        let ends = !can_unwind(info);
        let reported = REPORTED.try_with(Cell::get).unwrap_or(false);
        // It follows from a panic of this thread that was reported when it began.
        let again = ends && reported && message.contains(": panic in a ");
        if !again {
            set_data("panic", Some(&message)).ok();
        }
        previous(info);
        if !ends {
            let done = report_now(&message).is_ok();
            REPORTED.try_with(|reported| reported.set(done)).ok();
        } else if !again {
            breadcrumb(&message);
        } else if let Some(library) = Library::get() {
            // SAFETY: the function is async-signal-safe, and stays.
            unsafe { (library.set_callbacks)(Some(skip_abort), std::ptr::null(), std::ptr::null_mut()) }
        }
    }));
}
