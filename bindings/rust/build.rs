// SPDX-License-Identifier: Apache-2.0
//
// With the feature `vendored`, compiles the handler that is in the crate; with `link`, asks
// pkg-config how to link libcrashhook. From Rust 1.65 on the standard library gives a program
// its stack.
use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

fn minor_version() -> Option<u32> {
    let output = Command::new(env::var_os("RUSTC")?).arg("--version").output().ok()?;
    let text = String::from_utf8(output.stdout).ok()?;
    text.split('.').nth(1)?.parse().ok()
}

fn run(command: &mut Command) {
    match command.status() {
        Ok(status) if status.success() => {}
        other => panic!("cannot build the handler: {command:?}: {other:?}"),
    }
}

/// The C compiler, by the variables that the crate cc reads, and the prefix of its tools.
fn tools() -> (String, String) {
    let target = env::var("TARGET").unwrap();
    let prefix = match target.split('-').next().unwrap() {
        _ if Some(&target) == env::var("HOST").ok().as_ref() => String::new(),
        machine => format!("{machine}-linux-gnu-"),
    };
    let names = [format!("CC_{}", target.replace('-', "_")), "TARGET_CC".into(), "CC".into()];
    let named = names.iter().find_map(|name| {
        println!("cargo:rerun-if-env-changed={name}");
        env::var(name).ok()
    });
    let default = if prefix.is_empty() { "cc".into() } else { format!("{prefix}gcc") };
    (named.unwrap_or(default), prefix)
}

/// Compiles the files of handler/ with the flags of their kind, and makes an archive of one
/// object whose hidden names are local, and of one beside it.
fn build_handler(handler: &Path, out: &Path) {
    let (compiler, prefix) = tools();
    let mut words = compiler.split_whitespace();
    let program = words.next().expect("CC names a compiler");
    let words: Vec<&str> = words.collect();
    let list = fs::read_to_string(handler.join("files"))
        .expect("the feature `vendored` is for the packed crate (packaging/build-bindings)");
    let mut objects: Vec<PathBuf> = Vec::new();
    let mut beside: Vec<PathBuf> = Vec::new();
    for (kind, name) in list.lines().filter_map(|line| line.split_once(' ')) {
        let object = out.join(name).with_extension("o");
        let mut command = Command::new(program);
        command.args(&words).args("-c -w -Os -fPIC -fno-plt -fvisibility=hidden".split(' '));
        command.args("-fomit-frame-pointer -ffunction-sections -fdata-sections".split(' '));
        if kind.starts_with("crash") {
            command.args(["-ffreestanding", "-fno-stack-protector"]);
            if env::var("CARGO_CFG_TARGET_ARCH").as_deref() == Ok("aarch64") {
                command.arg("-mno-outline-atomics");
            }
        }
        if kind.ends_with("-no-tables") {
            command.args(["-fno-asynchronous-unwind-tables", "-fno-unwind-tables"]);
        }
        run(command.arg(handler.join(name)).arg("-o").arg(&object));
        if kind == "beside" { &mut beside } else { &mut objects }.push(object);
    }
    let whole = out.join("crashhook.o");
    run(Command::new(program).args(&words).args(["-r", "-nostdlib", "-o"]).arg(&whole).args(objects));
    run(Command::new(format!("{prefix}objcopy")).arg("--localize-hidden").arg(&whole));
    let archive = out.join("libcrashhook.a");
    let _ = fs::remove_file(&archive);
    run(Command::new(format!("{prefix}ar")).arg("crs").arg(archive).arg(whole).args(beside));
    println!("cargo:rustc-link-search=native={}", out.display());
    println!("cargo:rustc-link-lib=static=crashhook");
}

fn main() {
    println!("cargo:rustc-check-cfg=cfg(has_backtrace)");
    if minor_version().map_or(false, |minor| minor >= 65) {
        println!("cargo:rustc-cfg=has_backtrace");
    }
    println!("cargo:rustc-check-cfg=cfg(is_linked)");
    println!("cargo:rerun-if-env-changed=PKG_CONFIG_PATH");
    let is_vendored = env::var_os("CARGO_FEATURE_VENDORED").is_some();
    if is_vendored || env::var_os("CARGO_FEATURE_LINK").is_some() {
        println!("cargo:rustc-cfg=is_linked");
    }
    if is_vendored {
        println!("cargo:rerun-if-changed=handler");
        let out = PathBuf::from(env::var_os("OUT_DIR").unwrap());
        build_handler(&Path::new(&env::var_os("CARGO_MANIFEST_DIR").unwrap()).join("handler"), &out);
        return;
    }
    if env::var_os("CARGO_FEATURE_LINK").is_none() {
        return;
    }
    let output = Command::new("pkg-config").args(["--libs", "crashhook"]).output();
    let flags = match output {
        Ok(output) if output.status.success() => String::from_utf8(output.stdout).unwrap(),
        _ => panic!("pkg-config does not find crashhook; set PKG_CONFIG_PATH"),
    };
    for flag in flags.split_whitespace() {
        if let Some(folder) = flag.strip_prefix("-L") {
            println!("cargo:rustc-link-search=native={folder}");
        } else if let Some(library) = flag.strip_prefix("-l") {
            println!("cargo:rustc-link-lib=dylib={library}");
        } else if flag.starts_with("-Wl,-rpath,") {
            println!("cargo:rustc-link-arg={flag}");
        }
    }
}
