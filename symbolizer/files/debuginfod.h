// SPDX-License-Identifier: Apache-2.0
//
// Debug files from a debuginfod server. This is used only on explicit request, never
// because a variable happens to be set, and never while a process is held.
//
// The server is not trusted: a file has at most 1 GiB, decompressed, and 50 s to come.
// The client follows redirects, within that time.
//
// The client library is loaded when it is first needed, so that programs that symbolize
// do not depend on an HTTP client.
#pragma once
#include <stddef.h>

#include "base/status.h"
#include "symbolizer/files/debug_elf.h"

// debuginfod_fetch asks the servers at url (separated by spaces) for the debug file of
// id, and writes the path of its cached copy to path. CH_ERR_UNSUPPORTED: the client
// library is not installed.
CH_CHECKED enum ch_status debuginfod_fetch(const char *url, const struct build_id *id,
                                           char *path, size_t size);
