// SPDX-License-Identifier: Apache-2.0
//
// Debug files in archives: packages of Debian and of RPM, zip, and tar however it is
// compressed.
//
// libarchive unpacks them, one file at a time, in a child process that can neither open
// files to write nor start programs. It is loaded when it is needed, so a machine
// without it does all else.
#pragma once
#include <stdbool.h>
#include <stdio.h>

#include "base/status.h"

// symbols_archive_fn takes a file that may be a debug file, and its name in the
// archive; false: no more are wanted.
typedef bool symbols_archive_fn(void *context, FILE *file, const char *name);

// symbols_archive_begins returns true if a file begins as archives do.
bool symbols_archive_begins(FILE *file);

// symbols_archive_read unpacks a file. CH_ERR_UNSUPPORTED: it is no archive after all.
// Of every failure *out_why is the reason.
CH_CHECKED enum ch_status symbols_archive_read(FILE *file, symbols_archive_fn *take,
                                               void *context, const char **out_why);
