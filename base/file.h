// SPDX-License-Identifier: Apache-2.0
//
// Descriptors and the names of files: what everybody who opens one needs.
//
// Nothing here opens anything, allocates, or says why on its own: errno does. Reading a
// whole file is text_read (base/text.h); writing where nobody may be reading is
// bounded_write (base/bounded_write.h). Users: everybody but the handler.
#pragma once
#include <stdbool.h>
#include <stddef.h>

// file_close closes *fd where that is one, and keeps errno: for CH_CLEANUP.
void file_close(const int *fd);

// file_write_all writes all size bytes, however many calls that takes. false: errno
// says why not, and some may have been written.
bool file_write_all(int fd, const void *bytes, size_t size);

// file_name is what stands after the last slash of path, all of it where there is none;
// NULL for NULL.
const char *file_name(const char *path);
