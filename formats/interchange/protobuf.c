// SPDX-License-Identifier: Apache-2.0
#include "formats/interchange/protobuf.h"

static uint64_t take_varint(struct cursor *c)
{
    uint64_t value = 0;
    for (unsigned shift = 0; shift < 64; shift += 7) {
        uint8_t byte = cursor_u8(c);
        value |= (uint64_t)(byte & 0x7f) << shift;
        if (byte < 0x80)
            return value;
    }
    cursor_poison(c);
    return 0;
}

bool protobuf_next(struct cursor *message, struct protobuf_field *out)
{
    if (cursor_left(message) == 0)
        return false;
    uint64_t tag = take_varint(message);
    *out = (struct protobuf_field){ .number = tag >> 3, .bytes = cursor_over(NULL, 0) };
    switch (tag & 7) {
    case PROTOBUF_VARINT:
        out->value = take_varint(message);
        break;
    case PROTOBUF_FIXED64:
        cursor_skip(message, 8);
        break;
    case PROTOBUF_BYTES: {
        uint64_t size = take_varint(message);
        out->bytes = cursor_child(
            message, cursor_ok(message) && size <= SIZE_MAX ? (size_t)size : 0);
        break;
    }
    case PROTOBUF_FIXED32:
        cursor_skip(message, 4);
        break;
    default:
        cursor_poison(message);
    }
    return cursor_ok(message);
}
