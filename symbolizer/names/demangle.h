// SPDX-License-Identifier: Apache-2.0
//
// Demangles linker names of C++, Rust (both of its schemes) and D, by libiberty.
// Mangled names are untrusted, and a short one can expand to gigabytes of text, so
// input and output are limited.
#pragma once

enum { DEMANGLE_INPUT_MAX = 16384, DEMANGLE_OUTPUT_MAX = 16384 };

// demangle_name gives the demangled raw_name, to be freed, or NULL if it is not mangled
// or exceeds the limits.
char *demangle_name(const char *raw_name);
