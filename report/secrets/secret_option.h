// SPDX-License-Identifier: Apache-2.0
//
// Which option of a command line has a secret as its value, and where the value is: in
// the same argument (`-pPASS`, `--password=x`) or in the next one (`--otp x`).
//
// Long options are judged by their name (report/secrets/secret_name.h), short ones by a
// table: some mean the same in most programs, others only in a few. Users:
// report/secrets/sanitize.c, for command lines and for texts that quote one.
#pragma once
#include <stddef.h>

#include "report/secrets/secret_name.h"

enum secret_option_kind {
    SECRET_OPTION_NONE,
    SECRET_OPTION_VALUE, // all of the value is the secret
    SECRET_OPTION_LOGIN, // user:password, or user%password
};

struct secret_option {
    enum secret_option_kind kind;
    enum secret_name sure;
    size_t attached; // offset of the value in the argument; 0: it is the next argument
};

// secret_option_of examines an argument of length bytes. program is the path or file
// name that the command begins with, or NULL if it is not known.
struct secret_option secret_option_of(const char *program, const char *argument,
                                      size_t length);
