// SPDX-License-Identifier: Apache-2.0
//
// A decompressed debug file has a debug file's entries, lines, locations and strings
// decompressed. It is mapped and used directly, where decompressing the original takes
// tens of milliseconds for one value, or seconds and all its memory for that of a large
// program. It is kept with the symbol caches (symbol_cache_folder.h).
//
// It has no symbols: those are not compressed. Files that refer to another file
// (`.gnu_debugaltlink`) have no decompressed form.
#pragma once
#include <stdbool.h>
#include <stdint.h>

#include "base/status.h"
#include "symbolizer/files/debug_elf.h"

// PLAIN_DEBUG_LARGE is the size from which on nothing but the decompressed form is
// read: it is made first where there is none.
#define PLAIN_DEBUG_LARGE ((uint64_t)64 << 20)

// decompressed_debug_is_foreign is true if file has a section that is compressed, and
// by another method than zlib: libelf knows zstd from 0.189 on, and no others.
bool decompressed_debug_is_foreign(const struct debug_elf *file);

// decompressed_debug_is_unknown returns true if the .debug_info of file is compressed
// by a method that nothing here supports.
bool decompressed_debug_is_unknown(const struct debug_elf *file);

// decompressed_debug_size is the size of the decompressed form of file in bytes, as its
// headers have it. 0: it has none, or needs none.
uint64_t decompressed_debug_size(const struct debug_elf *file);

// decompressed_debug_write writes the decompressed form of file to fd, an empty file,
// in as many threads as there are processors, up to four. Both files are mapped.
// CH_ERR_MALFORMED: it cannot be decompressed. CH_ERR_LIMIT: it would be larger than
// limit_bytes. CH_ERR_IO: errno has the reason.
CH_CHECKED enum ch_status decompressed_debug_write(const struct debug_elf *file, int fd,
                                                   uint64_t limit_bytes);

// PLAIN_DEBUG_LOADED_MAX is the size up to which it is made without a copy being kept.
#define PLAIN_DEBUG_LOADED_MAX ((uint64_t)2 << 30)

// decompressed_debug_load makes the decompressed form of file, with what names are
// found in, and opens it: what is large in a file without a name in TMPDIR or /var/tmp,
// all else, and where no such file can be made, in memory. It takes less than libdw's
// time, and less memory, as libdw decompresses every section. CH_ERR_UNSUPPORTED: it
// has no such form, or needs none.
CH_CHECKED enum ch_status decompressed_debug_load(struct debug_elf *out,
                                                  const struct debug_elf *file);

// decompressed_debug_load_foreign does the same, with what values are found in too, for
// a file that libelf may be unable to decompress. CH_ERR_UNSUPPORTED: it can.
CH_CHECKED enum ch_status decompressed_debug_load_foreign(struct debug_elf *out,
                                                          const struct debug_elf *file);
