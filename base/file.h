// SPDX-License-Identifier: Apache-2.0
//
// Helpers for descriptors and file names.
//
// Nothing here opens anything, allocates, or reports errors other than by errno.
// Reading a whole file is text_read (base/text.h); writing where nobody may be reading
// is bounded_write (base/bounded_write.h). Users: everything but the handler.
#pragma once
#include <stdbool.h>
#include <stddef.h>

// file_close closes *fd if it is a descriptor, and preserves errno: for CH_CLEANUP.
void file_close(const int *fd);

// file_write_all writes all size bytes, in as many calls as needed. false: errno has
// the reason, and some bytes may have been written.
bool file_write_all(int fd, const void *bytes, size_t size);

// file_name gives the part of path after its last slash, or path if there is none; NULL
// for NULL.
const char *file_name(const char *path);
