// SPDX-License-Identifier: Apache-2.0
//
// A json_writer streams JSON, to a descriptor or into memory, without building a tree.
//
// The held phase of a crash writes its report with this: a thousand threads cost one
// buffer, not a hundred thousand nodes. Strings come from crashed processes, so bytes
// that are not UTF-8 are written as U+FFFD and control characters are escaped. Errors
// are sticky: after a failed write nothing more is written, and json_writer_finish
// reports it.
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/text.h"

struct json_writer {
    struct text text; // fd -1: the document
    char *buffer;     // bytes not yet passed to fd or text
    size_t used;
    uint64_t handed_on; // bytes passed to fd or text
    int fd;
    int error; // errno of the first failure
    bool need_comma;
};

// json_writer_init begins a document that goes to fd, or stays in text if fd is -1.
void json_writer_init(struct json_writer *w, int fd);

// json_writer_deinit frees what the writer holds; the caller owns the descriptor.
void json_writer_deinit(struct json_writer *w);

// json_writer_finish writes what is still buffered. CH_ERR_IO: a write failed, errno
// says why. CH_ERR_NO_MEMORY: the buffer could not grow.
CH_CHECKED enum ch_status json_writer_finish(struct json_writer *w);

// json_writer_size is the size of the document so far, in bytes.
uint64_t json_writer_size(const struct json_writer *w);

// json_write_object and json_write_array open an object or array; json_write_end closes
// it with the given bracket.
void json_write_object(struct json_writer *w);
void json_write_array(struct json_writer *w);
void json_write_end(struct json_writer *w, char bracket);

// json_write_key writes a member's name, which needs no escaping; its value follows.
void json_write_key(struct json_writer *w, const char *key);

// json_write_member does the same for a name that may need escaping.
void json_write_member(struct json_writer *w, const char *key);

// json_write_string writes a string; NULL is written as null.
void json_write_string(struct json_writer *w, const char *string);

// json_write_bytes writes length bytes as a string.
void json_write_bytes(struct json_writer *w, const char *bytes, size_t length);

// json_write_raw writes a value that is already JSON.
void json_write_raw(struct json_writer *w, const char *json, size_t length);

// json_write_plain writes text that is known to need no escaping, as a string.
void json_write_plain(struct json_writer *w, const char *text);

// json_write_int, json_write_uint and json_write_bool write a number or a boolean.
// Larger numbers than INT64_MAX become INT64_MAX: readers refuse a text with others,
// and one corrupt counter of a process must not cost its report.
void json_write_int(struct json_writer *w, int64_t value);
void json_write_uint(struct json_writer *w, uint64_t value);
void json_write_bool(struct json_writer *w, bool value);

// json_write_hex writes the number as a string "0x1f", without padding.
void json_write_hex(struct json_writer *w, uint64_t value);
