# SPDX-License-Identifier: Apache-2.0
# The commands of README.md; cmake and ctest do the work.

JOBS ?= $(shell nproc)
PREFIX ?= /usr/local

.PHONY: all deps demo check check-full bench packages check-packages install clean

all:
	cmake --preset release
	cmake --build --preset release -j $(JOBS)

deps:
	packaging/install-packages packaging/debian-packages.txt

# Crashes the example programs and shows what becomes of it.
demo: deps all
	examples/demo

# Every test, the long ones at a reduced count.
check: deps
	tests/check reduced $(JOBS)

# Full counts, every sanitizer and toolchain.
check-full: deps
	tests/check full $(JOBS)

# Measures what docs/performance.md quotes.
bench: deps all
	bench/run

# Debian packages and a tarball, of what is committed, in build/packages.
packages: deps
	packaging/install-packages packaging/packaging-packages.txt
	packaging/build-debian build/packages
	packaging/build-tarball build/packages

# Installs them in a clean Debian 12 and uses them there.
check-packages: packages
	packaging/smoke-test build/packages

install: all
	cmake --install build/release --prefix $(PREFIX)

clean:
	rm -rf build
