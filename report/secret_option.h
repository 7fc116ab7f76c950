// SPDX-License-Identifier: Apache-2.0
//
// Which option of a command line has a secret for its value, and where that value
// stands: in the same argument (`-pPASS`, `--password=x`) or in the next one (`--otp
// x`).
//
// Long options are judged by their name (report/secret_name.h), short ones by a table:
// a few mean the same in most programs, others in a few. Users: report/sanitize.c, for
// command lines and for texts that quote one.
#pragma once
#include <stddef.h>

#include "report/secret_name.h"

enum secret_option_kind {
    SECRET_OPTION_NONE,
    SECRET_OPTION_VALUE, // all of the value is the secret
    SECRET_OPTION_LOGIN, // user:password, or user%password
};

struct secret_option {
    enum secret_option_kind kind;
    enum secret_name sure;
    size_t attached; // where the value begins in the argument; 0: it is the next one
};

// secret_option_of looks at an argument of length bytes. program is the file name that
// the command begins with, of any folder, or NULL where it is not known.
struct secret_option secret_option_of(const char *program, const char *argument,
                                      size_t length);
