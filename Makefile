# SPDX-License-Identifier: Apache-2.0
# The commands of README.md; cmake and ctest do the work.

JOBS ?= $(shell nproc)
PREFIX ?= /usr/local

.PHONY: all deps runtimes demo check check-full bench packages check-packages install clean \
	asan tsan fuzz valgrind coverage aarch64 trixie receivers places

all:
	cmake --preset release
	cmake --build --preset release -j $(JOBS)

deps:
	packaging/install-packages packaging/debian-packages.txt

# What tests crash besides: nothing that building needs.
runtimes:
	packaging/install-packages packaging/runtime-packages.txt

# Crashes the example programs and shows what becomes of it.
demo: deps all
	examples/demo

# Every test, the long ones at a reduced count.
check: deps runtimes
	tests/check reduced $(JOBS)

# Full counts, every sanitizer and toolchain.
check-full: deps runtimes
	tests/check full $(JOBS)

# Unit tests under a sanitizer.
asan tsan: deps
	cmake --preset $@
	cmake --build --preset $@ -j $(JOBS)
	setarch -R ctest --preset $@ -j $(JOBS) -LE 'lint|integration'

# Each parser's libFuzzer target, a minute each.
fuzz: deps
	cmake --preset fuzz
	cmake --build --preset fuzz -j $(JOBS) --target fuzzers
	setarch -R ctest --preset fuzz -j $(JOBS) -L fuzz

# The tests and the demo in the places where people clone the tree.
places: deps
	packaging/install-packages packaging/more-packages.txt
	tests/check-places

# Unit tests under memcheck; what lines tests run; AArch64 under qemu; Debian 13.
valgrind coverage aarch64 trixie: deps
	packaging/install-packages packaging/more-packages.txt
	tests/check-$@ $(JOBS)

# Receivers of Sentry's and OpenTelemetry's that others wrote, from npm.
receivers: deps all
	packaging/install-packages packaging/more-packages.txt
	command -v npm || echo npm | packaging/install-packages /dev/stdin
	tests/check-receivers

# Measures what docs/performance.md quotes; BENCH=--quick takes fewer turns.
bench: deps all
	packaging/install-packages packaging/more-packages.txt
	bench/run $(BENCH)

# Debian packages and a tarball, of what is committed, in build/packages.
packages: deps
	packaging/install-packages packaging/more-packages.txt
	packaging/build-debian build/packages
	packaging/build-tarball build/packages

# Installs them in a clean Debian 12 and uses them there.
check-packages: packages
	packaging/smoke-test build/packages

install: all
	cmake --install build/release --prefix $(PREFIX)

clean:
	rm -rf build
