// SPDX-License-Identifier: Apache-2.0
//
// The C library's search for the image that contains an address, which takes no lock
// (glibc 2.35 and later; NULL elsewhere). What is built with older headers uses it
// where it runs with a newer C library.
#pragma once
#include <dlfcn.h>

#if !defined(DLFO_STRUCT_HAS_EH_DBASE)
struct dl_find_object {
    unsigned long long dlfo_flags;
    void *dlfo_map_start;
    void *dlfo_map_end;
    struct link_map *dlfo_link_map;
    void *dlfo_eh_frame;
    unsigned long long reserved[7];
};
#endif
extern int _dl_find_object(void *address, struct dl_find_object *out)
    __attribute__((weak));
