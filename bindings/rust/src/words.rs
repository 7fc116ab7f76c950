// SPDX-License-Identifier: Apache-2.0
//
//! The last words of a program that a panic ends: a panic that unwinds out of `main`
//! ends it by exit(101), which no signal handler sees. The words are left in the spool,
//! in the form of docs/formats/exit_words.md.

use std::fs;
use std::io::{self, Write};
use std::os::raw::{c_int, c_void};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::panic;
use std::path::PathBuf;
use std::sync::{Mutex, Once};

/// The status by which Rust exits after a panic in `main`.
const PANIC_STATUS: c_int = 101;

/// How many panics before that are part of the words: a thread's, whose result `main`
/// unwrapped.
const PANICS_KEPT: usize = 4;

/// The program's settings, where no variable is set.
#[derive(Default)]
pub struct Settings {
    pub spool: Option<String>,
    pub release: Option<String>,
    pub environment: Option<String>,
    pub tags: Option<String>,
}

struct Kept {
    settings: Option<Settings>,
    panics: Vec<(String, String)>, // message and stack
}

static KEPT: Mutex<Kept> = Mutex::new(Kept { settings: None, panics: Vec::new() });

extern "C" {
    fn getuid() -> u32;
    fn geteuid() -> u32;
}

#[cfg(target_env = "gnu")]
extern "C" {
    fn on_exit(function: extern "C" fn(c_int, *mut c_void), argument: *mut c_void) -> c_int;
}

/// Takes the settings that the program gave the library.
pub fn note(settings: Settings) {
    if let Ok(mut kept) = KEPT.lock() {
        kept.settings = Some(settings);
    }
}

fn variable(name: &str, own: Option<&String>) -> Option<String> {
    let set = std::env::var(name).ok().filter(|value| !value.is_empty());
    set.or_else(|| own.cloned())
}

/// The spool, as the library finds it.
fn spool(own: Option<&String>) -> Option<PathBuf> {
    if let Some(path) = variable("CRASHHOOK_SPOOL", own) {
        return Some(PathBuf::from(path));
    }
    // SAFETY: the call has no conditions.
    if unsafe { geteuid() } == 0 {
        return Some(PathBuf::from("/var/lib/crashhook"));
    }
    let state = std::env::var("XDG_STATE_HOME").ok().filter(|path| path.starts_with('/'));
    let home = std::env::var("HOME").ok().filter(|path| path.starts_with('/'));
    state
        .map(|path| PathBuf::from(path).join("crashhook"))
        .or_else(|| home.map(|path| PathBuf::from(path).join(".local/state/crashhook")))
}

/// The clock tick in which the process began.
fn start_ticks() -> Option<u64> {
    let line = fs::read_to_string("/proc/self/stat").ok()?;
    line[line.rfind(')')? + 1..].split_whitespace().nth(19)?.parse().ok()
}

/// How many frames a reader takes.
const FRAMES_KEPT: usize = 96;

/// The lines `frame: FUNCTION at FILE:LINE` of a stack, innermost first, from where the
/// program panicked:
///
///    4: shop::find_page
///              at ./src/main.rs:18:5
fn frames(stack: &str) -> String {
    let mut found: Vec<String> = Vec::new();
    for line in stack.lines() {
        let line = line.trim_start();
        if let (Some(place), Some(last)) = (line.strip_prefix("at "), found.last_mut()) {
            let place = place.strip_prefix("./").unwrap_or(place);
            let end = place.rfind(':').unwrap_or(place.len()); // of the line; a column follows
            if !last.contains(" at ") {
                *last += &format!(" at {}", &place[..end]);
            }
        } else if let Some((number, function)) = line.split_once(": ") {
            if number.bytes().all(|digit| digit.is_ascii_digit()) {
                found.push(format!("frame: {function}"));
            }
        }
    }
    let begins = |line: &String| line.contains("rust_begin_unwind") || line.contains("::begin_panic");
    let first = found.iter().rposition(begins).map_or(0, |last| last + 1);
    let own = |line: &&String| !line.starts_with("frame: crashhook::");
    found[first..].iter().filter(own).take(FRAMES_KEPT).map(|line| line.clone() + "\n").collect()
}

fn head(kept: &Kept, message: &str) -> String {
    let none = Settings::default();
    let own = kept.settings.as_ref().unwrap_or(&none);
    let executable = std::env::current_exe().ok();
    let values = [
        ("kind", Some("panic".to_string())),
        ("pid", Some(std::process::id().to_string())),
        ("status", Some(PANIC_STATUS.to_string())),
        ("executable", executable.map(|path| path.to_string_lossy().into_owned())),
        ("home", std::env::var("HOME").ok()),
        ("release", variable("CRASHHOOK_RELEASE", own.release.as_ref())),
        ("environment", variable("CRASHHOOK_ENVIRONMENT", own.environment.as_ref())),
        ("tags", variable("CRASHHOOK_TAGS", own.tags.as_ref())),
        ("kills", std::env::var("CRASHHOOK_KILLS").ok()),
        ("message", Some(message.to_string())),
        ("type", Some("panic".to_string())),
        ("language", Some("rust".to_string())),
    ];
    let mut text = "crashhook words 1\n".to_string();
    for (name, value) in values {
        if let Some(value) = value {
            text += &format!("{name}: {}\n", value.replace('\n', " "));
        }
    }
    text + &kept.panics.last().map_or(String::new(), |(_, stack)| frames(stack)) + "\n"
}

fn leave(kept: &Kept) -> io::Result<()> {
    let missing = || io::Error::from(io::ErrorKind::NotFound);
    let own = kept.settings.as_ref().and_then(|settings| settings.spool.as_ref());
    let folder = spool(own).ok_or_else(missing)?;
    let start = start_ticks().ok_or_else(missing)?;
    let (message, _) = kept.panics.last().ok_or_else(missing)?;
    fs::DirBuilder::new().recursive(true).mode(0o700).create(&folder)?;
    let name = format!("last-{start:016x}-{:08x}.record", std::process::id());
    let unfinished = folder.join(format!(".{name}.tmp"));
    let mut file =
        fs::OpenOptions::new().write(true).create_new(true).mode(0o600).open(&unfinished)?;
    let said = kept.panics.iter().rev().map(|(message, stack)| format!("{message}\n{stack}\n"));
    file.write_all((head(kept, message) + &said.collect::<String>()).as_bytes())?;
    fs::rename(unfinished, folder.join(name))
}

extern "C" fn at_exit(status: c_int, _: *mut c_void) {
    let _ = panic::catch_unwind(|| {
        if status == PANIC_STATUS {
            if let Ok(kept) = KEPT.lock() {
                leave(&kept).ok();
            }
        }
    });
}

fn keep(message: String, stack: String) {
    let name = std::thread::current().name().unwrap_or("<unnamed>").to_string();
    if let Ok(mut kept) = KEPT.lock() {
        if kept.panics.len() == PANICS_KEPT {
            kept.panics.remove(0);
        }
        kept.panics.push((format!("thread '{name}' {message}"), stack));
    }
}

#[cfg(has_backtrace)]
fn stack() -> String {
    std::backtrace::Backtrace::force_capture().to_string()
}

/// Rust before 1.65 gives a program no stack.
#[cfg(not(has_backtrace))]
fn stack() -> String {
    String::new()
}

#[allow(deprecated)] // PanicInfo is what Rust 1.63 has.
fn put_hook(message_of: fn(&panic::PanicInfo<'_>) -> String) {
    let previous = panic::take_hook();
    panic::set_hook(Box::new(move |info| {
        keep(message_of(info), stack());
        previous(info);
    }));
}

/// Has the words left if the program exits by a panic. False: it cannot be known here.
#[allow(deprecated)]
pub fn report(message_of: fn(&panic::PanicInfo<'_>) -> String) -> bool {
    static ONCE: Once = Once::new();
    // SAFETY: the calls have no conditions.
    let foreign = unsafe { getuid() != geteuid() };
    if foreign || !cfg!(target_env = "gnu") {
        return false;
    }
    if std::env::var("CRASHHOOK_ENABLE").map_or(false, |value| value == "no") {
        return false;
    }
    ONCE.call_once(|| {
        // SAFETY: at_exit never unwinds, and stays as long as the program.
        #[cfg(target_env = "gnu")]
        unsafe {
            on_exit(at_exit, std::ptr::null_mut());
        }
        put_hook(message_of);
    });
    true
}
