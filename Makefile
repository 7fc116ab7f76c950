# SPDX-License-Identifier: Apache-2.0
# The commands of README.md; cmake and ctest do the work.

JOBS ?= $(shell nproc)
PREFIX ?= /usr/local

# A build tree is set up once, without tests and without the optional libraries that are missing,
# and for compilers that warn of more than ours; what needs them sets it up again.
FIRST = $(if $(wildcard build/release/CMakeCache.txt),,\
	-DCRASHHOOK_TESTS=OFF -DCRASHHOOK_LEAVE_OUT_MISSING=ON -DCRASHHOOK_WERROR=OFF)
FIRST_TESTS = $(if $(wildcard build/release/CMakeCache.txt),,-DCRASHHOOK_WERROR=OFF)

.PHONY: all test everything build-needs deps runtimes demo check check-full bench packages release tarball check-tarball site check-packages check-image check-adoption applications truth system aarch64-system install clean \
	asan tsan fuzz valgrind coverage aarch64 trixie receivers published places

# Says in one line what is missing, and the command that gets it.
all:
	@packaging/build-needs
	cmake --preset release $(FIRST)
	cmake --build --preset release -j $(JOBS)

# Tests, benchmarks and every optional part too.
everything: deps
	cmake --preset release -DCRASHHOOK_TESTS=ON -DCRASHHOOK_LEAVE_OUT_MISSING=OFF -DCRASHHOOK_WERROR=ON
	cmake --build --preset release -j $(JOBS)

# Root gets what is missing; any other user is told.
build-needs:
	@packaging/build-needs --install

deps:
	packaging/install-packages packaging/debian-packages.txt

# What tests crash besides: nothing that building needs.
runtimes:
	packaging/install-packages packaging/runtime-packages.txt

# Crashes the example programs and shows what becomes of it. On a terminal the pages stay
# until Enter is pressed. Root leaves building and crashing to the user who owns the tree.
demo: build-needs
	@packaging/as-owner $(MAKE) --no-print-directory all
	packaging/as-owner examples/demo --keep

# Unit tests of what changed since origin/main; BASE names another commit. Parts whose libraries
# are missing are left out, with their tests.
test: build-needs
	cmake --preset release -DCRASHHOOK_TESTS=ON -DCRASHHOOK_LEAVE_OUT_MISSING=ON $(FIRST_TESTS) >/dev/null
	tests/check-changed build/release $(BASE)

# Every test, the long ones at a reduced count, with three of the runtimes.
check: deps
	printf '%s\n' default-jdk-headless golang-go nodejs | packaging/install-packages /dev/stdin
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

# The release build and all its tests in a root of Debian 13, whose packages are its own.
trixie:
	tests/check-trixie $(JOBS)

# Unit tests under memcheck; what lines tests run; AArch64 under qemu.
valgrind coverage aarch64: deps
	packaging/install-packages packaging/more-packages.txt
	tests/check-$@ $(JOBS)

# Receivers of Sentry's and OpenTelemetry's that others wrote, from npm.
receivers: everything
	packaging/install-packages packaging/more-packages.txt
	command -v npm || echo npm | packaging/install-packages /dev/stdin
	tests/check-receivers

# The collector's pages, API and messages, and what others published about these, from npm.
published: everything
	printf '%s\n' libapache2-mod-auth-openidc | packaging/install-packages /dev/stdin
	command -v npm || echo npm | packaging/install-packages /dev/stdin
	tests/check-published

# Measures what docs/performance.md quotes; BENCH=--quick takes fewer turns.
# bench/performance_page.py build/release/bench/figures.json then makes that page.
bench: everything
	packaging/install-packages packaging/more-packages.txt
	bench/run $(BENCH)

# Debian, RPM and Arch packages, tarballs and the bindings', of what is committed, in build/packages.
# Refused where a library in them is older than Debian's newest source (static-libraries).
packages release: deps
	packaging/install-packages packaging/more-packages.txt
	packaging/build-debian build/packages
	packaging/build-rpm build/packages
	packaging/build-arch build/packages
	packaging/build-tarball build/packages
	packaging/build-bindings --with build/packages/crashhook-*-$$(uname -m).tar.gz build/packages/bindings

# A tarball of what is committed that runs where it is unpacked, with SHA256SUMS.
tarball: build-needs
	printf '%s\n' binutils git mmdebstrap musl-tools | packaging/install-packages /dev/stdin
	packaging/build-tarball build/packages

# The documents as pages, in build/site.
site:
	command -v pandoc >/dev/null || echo pandoc | packaging/install-packages /dev/stdin
	packaging/build-site build/site

# Uses the tarball in roots of Debian 11, 12 and 13, of musl, and in an empty one: a table.
check-tarball: tarball
	tests/adoption/tarball build/packages || [ $$? -eq 77 ]

# Installs them in a clean Debian 12 and uses them there; the same with those of Debian 13.
check-packages: packages
	packaging/smoke-test build/packages
	packaging/build-debian build/packages/trixie trixie
	packaging/smoke-test build/packages/trixie trixie

# The container image of the packages, made and used: non-root, on a read-only root.
check-image: packages
	tests/check-image

# Each way to a first report in fresh roots of Debian 12, 13 and sid, as a table.
check-adoption: deps
	packaging/install-packages packaging/more-packages.txt
	tests/check-adoption

# Six applications of Debian's sources, adopted by the documents' words: a table.
applications: everything
	packaging/install-packages packaging/more-packages.txt
	tests/check-applications

# Every program of tests/truth and tests/sentences by every compiler, live, traced, from its core;
# then 500 crashes of damaged programs of Debian, compared with gdb.
truth: everything
	CRASHHOOK_BUILD=build/release CRASHHOOK_FULL=1 /usr/bin/python3 tests/truth/test_truth.py
	CRASHHOOK_BUILD=build/release CRASHHOOK_FULL=1 /usr/bin/python3 tests/truth/test_harm.py

# The packages in a machine of qemu's: cgroup version 2, Yama, AppArmor, systemd.
system: packages
	tests/check-system

# The tree in a machine of qemu's for AArch64: its tests that crash programs.
aarch64-system: deps
	packaging/install-packages packaging/more-packages.txt
	tests/check-aarch64 $(JOBS) machine
	tests/check-system --arch aarch64

# Root leaves building to the user who owns the tree.
install:
	@packaging/as-owner $(MAKE) --no-print-directory all
	packaging/as-owner cmake --preset release -DCMAKE_INSTALL_PREFIX="$(PREFIX)"
	packaging/as-owner cmake --build --preset release -j $(JOBS)
	cmake --install build/release --prefix $(PREFIX)

clean:
	rm -rf build
