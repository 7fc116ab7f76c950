// SPDX-License-Identifier: Apache-2.0
//
// A scoped name is a function's name with its scope and nothing else: what stays the
// same when a function is built by another compiler, inlined, cloned or instantiated
// with other types. `int shop::Cart<int>::total[abi:cxx11](long) const [clone .cold]`
// is `shop::Cart::total`.
//
// Left out are return types, parameters, template arguments, ABI tags, suffixes of
// clones, hashes of Rust, the numbers of lambdas and closures. `<T as Trait>::f` is
// `T::f`. The names of operators stay. Used for grouping and for telling whose code a
// function is; people see readable_name.
#pragma once
#include <stdbool.h>
#include <stddef.h>

#include "base/text.h"

// scoped_name appends the scoped name of function, as demanglers spell it.
void scoped_name(const char *function, struct text *out);

// scoped_name_passed_lambda appends the scoped name of the lambda that is a template
// argument of function: `gw::serve::{lambda}` of `std::_Function_handler<void (int),
// gw::serve()::{lambda(int)#1}>::_M_invoke`. False: there is none.
bool scoped_name_passed_lambda(const char *function, struct text *out);

// scoped_name_last is the last component of a scoped name: `total` of
// `shop::Cart::total`.
const char *scoped_name_last(const char *name);

// scoped_name_stem appends the name of a file without folders, extensions and what
// numbers its version: `app` of `/opt/lib/app-2.1.so.3`.
void scoped_name_stem(const char *path, struct text *out);
