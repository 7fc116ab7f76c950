// SPDX-License-Identifier: Apache-2.0
//
// Helpers for descriptors and file names.
//
// Nothing here opens anything, allocates, or reports errors other than by errno.
// Reading a whole file is text_read (base/text.h); writing where nobody may be reading
// is bounded_write (base/system/bounded_write.h). Users: everything but the handler.
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

// file_close closes *fd if it is a descriptor, and makes it none, because its number is
// soon another file's. errno is preserved: for CH_CLEANUP.
void file_close(int *fd);

// file_write_all writes all size bytes, in as many calls as needed. false: errno has
// the reason, and some bytes may have been written.
bool file_write_all(int fd, const void *bytes, size_t size);

// file_put writes size bytes to the file at path, which it creates for its owner alone;
// flags are more of open's, such as O_EXCL. false: errno is set.
bool file_put(const char *path, int flags, const void *bytes, size_t size);

// file_read_all reads size bytes, in as many calls as needed, and returns how many
// there were: fewer only at the end. -1: errno has the reason.
ssize_t file_read_all(int fd, void *to, size_t size);

// file_read_at does it from offset, and does not move the descriptor's position. It
// returns what it had when a read failed.
size_t file_read_at(int fd, void *to, size_t size, uint64_t offset);

// file_name gives the part of path after its last slash, or path if there is none or
// nothing after it; NULL for NULL.
const char *file_name(const char *path);

// file_make_parents creates the missing folders above path's last component, with these
// permissions. false: errno has the reason.
bool file_make_parents(const char *path, mode_t mode);
