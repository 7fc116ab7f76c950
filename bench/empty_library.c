// SPDX-License-Identifier: Apache-2.0
//
// A library that does nothing: what it costs to preload any.
extern const char empty_library;
const char empty_library = 0;
