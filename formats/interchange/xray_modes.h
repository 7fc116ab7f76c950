// SPDX-License-Identifier: Apache-2.0
//
// The files of XRay's other two modes (docs/formats/fdr.md): basic mode, records of a
// fixed size in the order in which threads wrote them, and profiling mode, the number
// and time of calls by call path.
//
// A basic log begins with the header of fdr.h and type 0; its records become records of
// fdr.h. A profile has a header of its own. Both are in the writer's byte order.
#pragma once
#include "formats/interchange/fdr.h"

enum {
    XRAY_BASIC_TYPE = 0,
    XRAY_BASIC_RECORD_SIZE = 32,
    XRAY_BASIC_VERSION_MAX = 3,
    XRAY_PROFILE_HEADER_SIZE = 32,
    XRAY_PATH_MAX = 4096, // functions of one path
};

// xray_basic_next reads a record of a basic log, in log->big_endian order. out->kind is
// FDR_FUNCTION or FDR_CALL_ARGUMENT; out->pid is 0 before version 3. CH_END: there are
// no more. CH_ERR_UNSUPPORTED: an unknown kind of record or action, which was passed
// over. CH_ERR_TRUNCATED: the log ends inside the record.
CH_CHECKED enum ch_status xray_basic_next(struct cursor *log, uint16_t version,
                                          struct fdr_record *out);

// An xray_profile is read path by path.
struct xray_profile {
    struct cursor file;
    struct cursor block;
    uint64_t version;
    uint64_t timestamp; // nanoseconds since 1970
    uint64_t pid;
    uint64_t tid; // of the current block
};

// An xray_path is a stack that was seen in one thread, its functions innermost first.
struct xray_path {
    uint64_t tid;
    uint32_t functions[XRAY_PATH_MAX];
    size_t count;
    uint64_t calls;
    uint64_t time; // of these calls, in cycles of an unknown length
};

// xray_profile_init reads the header. CH_ERR_NOT_FOUND: bytes are not a profile.
CH_CHECKED enum ch_status xray_profile_init(struct xray_profile *profile,
                                            const void *bytes, size_t size);

// xray_profile_next reads a path. CH_END: there are no more. Any other failure ends the
// profile.
CH_CHECKED enum ch_status xray_profile_next(struct xray_profile *profile,
                                            struct xray_path *out);
