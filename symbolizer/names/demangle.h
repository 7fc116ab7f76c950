// SPDX-License-Identifier: Apache-2.0
//
// Linker names as people wrote them: C++, Rust (both of its schemes) and D, by
// libiberty. Mangled names come from files of strangers and
// a short one can stand for gigabytes of text, so both ends are bounded.
#pragma once

enum { DEMANGLE_INPUT_MAX = 16384, DEMANGLE_OUTPUT_MAX = 16384 };

// demangle_name is what raw_name means, to be freed, or NULL when it is no mangled name
// or passes the limits.
char *demangle_name(const char *raw_name);
