// SPDX-License-Identifier: Apache-2.0
//
// Whether the head of a request leaves no doubt where its body ends and to which host
// it goes. A proxy in front may have read a head that is in doubt in another way, and
// passed on what a stranger hid in a body as a request of its own.
#pragma once
#include <stdbool.h>
#include <stddef.h>

// http_head is what is counted of a head; begin with all zero.
struct http_head {
    unsigned lengths;   // Content-Length
    unsigned encodings; // Transfer-Encoding
    unsigned hosts;
    bool strange; // a name or a value that RFC 9110 does not allow
};

// http_head_add counts one field; neither text need be terminated.
void http_head_add(struct http_head *head, const char *key, size_t key_size,
                   const char *value, size_t value_size);

// http_head_doubt returns what is in doubt, in a request of that version; NULL:
// nothing.
const char *http_head_doubt(const struct http_head *head, const char *version);
