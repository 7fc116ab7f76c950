// SPDX-License-Identifier: Apache-2.0
//
// The fields of a message in protobuf's encoding, one by one. What a field means is
// known to its reader alone; one of an unknown number is to be passed over.
#pragma once
#include <stdbool.h>
#include <stdint.h>

#include "base/cursor.h"

enum {
    PROTOBUF_VARINT = 0,
    PROTOBUF_FIXED64 = 1,
    PROTOBUF_BYTES = 2,
    PROTOBUF_FIXED32 = 5
};

struct protobuf_field {
    uint64_t number;
    uint64_t value;      // of a varint
    struct cursor bytes; // of a string or message; empty for others
};

// protobuf_next reads a field and passes over it. false: there are no more, or, where
// cursor_ok is false, the message is damaged.
bool protobuf_next(struct cursor *message, struct protobuf_field *out);
