// SPDX-License-Identifier: Apache-2.0
//
// Status codes: the reason why an operation failed.
//
// Every fallible function returns one of these and is CH_CHECKED, so that the compiler
// rejects a caller that drops it. There are few on purpose: a code exists only if some
// caller acts differently on it. Out-parameters are written on CH_OK only, unless a
// function says otherwise.
#pragma once

// CH_CHECKED makes ignoring a function's result a warning, and warnings are errors.
#define CH_CHECKED __attribute__((warn_unused_result))

// CH_CLEANUP runs fn on the variable's address when the variable leaves its scope.
#define CH_CLEANUP(fn) __attribute__((cleanup(fn)))

// CH_PRINTF makes the compiler check a format string and its arguments.
#define CH_PRINTF(string, first) __attribute__((format(printf, string, first)))

enum ch_status {
    CH_OK = 0,
    CH_END,             // an iteration is over; not a failure
    CH_ERR_TRUNCATED,   // the input ended too early
    CH_ERR_MALFORMED,   // the input contradicts its format
    CH_ERR_UNSUPPORTED, // a version or kind we do not know
    CH_ERR_LIMIT,       // a stated limit was reached
    CH_ERR_FAULT,       // memory of the target could not be read
    CH_ERR_NOT_FOUND,   // it does not exist
    CH_ERR_NO_MEMORY,   // our own allocation failed
    CH_ERR_IO,          // a system call failed; errno says why
};

// ch_status_name gives the code's name as reports and messages spell it ("truncated").
const char *ch_status_name(enum ch_status status);
