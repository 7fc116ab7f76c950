// SPDX-License-Identifier: Apache-2.0
//
// With the feature `link`, asks pkg-config how to link libcrashhook. From Rust 1.65 on the
// standard library gives a program its stack.
use std::env;
use std::process::Command;

fn minor_version() -> Option<u32> {
    let output = Command::new(env::var_os("RUSTC")?).arg("--version").output().ok()?;
    let text = String::from_utf8(output.stdout).ok()?;
    text.split('.').nth(1)?.parse().ok()
}

fn main() {
    println!("cargo:rustc-check-cfg=cfg(has_backtrace)");
    if minor_version().map_or(false, |minor| minor >= 65) {
        println!("cargo:rustc-cfg=has_backtrace");
    }
    println!("cargo:rerun-if-env-changed=PKG_CONFIG_PATH");
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
