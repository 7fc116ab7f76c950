// SPDX-License-Identifier: Apache-2.0
//
// A debug file as an object: compressed with zstd, named by the SHA-256 of its content,
// which is checked when it comes back. Only symbol_store.c uses it.
#pragma once
#include "collector/objects/object_store.h"
#include "collector/symbols/symbol_folder.h"

// symbol_object_put stores the content of fd below folder, writes its name, and says
// how many bytes the object has.
CH_CHECKED enum ch_status symbol_object_put(struct object_store *objects,
                                            const char *folder, int fd,
                                            char out_name[OBJECT_NAME_SIZE],
                                            int64_t *out_size,
                                            char why[OBJECT_WHY_SIZE]);

// symbol_object_get writes the content of an object to an upload that has begun.
CH_CHECKED enum ch_status symbol_object_get(struct object_store *objects,
                                            const char *name,
                                            struct symbol_upload *upload,
                                            char why[OBJECT_WHY_SIZE]);
