// SPDX-License-Identifier: Apache-2.0
//
// Bodies outside of the database. A body is stored in the table `bodies` first, so that
// an upload depends on the database alone. Where there is a store of objects, bodies of
// one week are then packed into a segment, an object of many bodies; once it was read
// back, the rows get references in their place.
//
// A segment is a body after the other, each after a line `ID REVISION ENCODING LENGTH`
// (encodings as in decode.h), so that reports can be had from segments alone. Nothing
// is lost where a collector is killed: what has no reference is packed again, and
// objects that no row names are removed after a day. Users: body_packer.c, the readers
// of bodies.
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "collector/objects/object_store.h"
#include "collector/store/store.h"

// store_packing is when bodies are packed.
struct store_packing {
    int64_t now_ms;
    size_t segment_bytes; // so many are packed at once
    int64_t patience_ms;  // fewer are, when the first came so long ago
};

// store_staged is what waits to be packed.
struct store_staged {
    int64_t count;
    int64_t oldest_ms; // when the first of them came; 0: there is none
    int64_t segments;  // that there are
    int64_t bytes;     // of these
};

// store_objects_folder gives this store's folder among objects, for ever.
CH_CHECKED enum ch_status store_objects_folder(struct store *store, const char **out,
                                               char error[STORE_ERROR_SIZE]);

// store_use_objects has bodies packed into objects, which are the caller's; NULL: they
// stay in the database. It fails where some are elsewhere then. It is called before any
// thread uses the store.
CH_CHECKED enum ch_status store_use_objects(struct store *store,
                                            struct object_store *objects,
                                            char error[STORE_ERROR_SIZE]);

// store_pack packs one segment, and returns how many bodies went into it: 0 when there
// are not enough yet, or another collector packs.
CH_CHECKED enum ch_status store_pack(struct store *store,
                                     const struct store_packing *packing,
                                     size_t *out_packed, char error[STORE_ERROR_SIZE]);

// store_drop_segments removes segments of which no body is left, a day after they were
// made at the earliest, and returns how many.
CH_CHECKED enum ch_status store_drop_segments(struct store *store, int64_t now_ms,
                                              size_t *out_dropped,
                                              char error[STORE_ERROR_SIZE]);

// store_drop_strays removes objects that no row names and that are a day old, and
// returns how many: what was written before its collector was killed.
CH_CHECKED enum ch_status store_drop_strays(struct store *store, int64_t now_ms,
                                            size_t *out_dropped,
                                            char error[STORE_ERROR_SIZE]);

// store_drop_stray_symbols does so for debug files, which are in other objects.
CH_CHECKED enum ch_status store_drop_stray_symbols(struct store *store,
                                                   struct object_store *objects,
                                                   int64_t now_ms, size_t *out_dropped,
                                                   char error[STORE_ERROR_SIZE]);

// store_staged_of finds out what waits.
CH_CHECKED enum ch_status store_staged_of(struct store *store,
                                          struct store_staged *out);
