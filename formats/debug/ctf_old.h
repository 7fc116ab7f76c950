// SPDX-License-Identifier: Apache-2.0
//
// CTF versions 1 and 2, of Solaris, illumos and FreeBSD: their sections in the form of
// version 3, as libctf upgrades them (docs/formats/ctf.md). The result is at most
// CTF_BODY_MAX bytes.
#pragma once
#include <stdbool.h>
#include <stdint.h>

#include "base/cursor.h"
#include "base/status.h"
#include "base/text.h"
#include "formats/debug/ctf_layout.h"

// A ctf_old is the sections of an old dictionary, in its byte order.
struct ctf_old {
    struct cursor labels;
    struct cursor objects;
    struct cursor functions;
    struct cursor types;
    struct cursor strings;
    bool first;    // version 1 of Solaris, whose kinds have 4 bits
    bool is_child; // its own types have the top bit of 16 in their numbers
};

// ctf_old_upgrade appends a body of version 3 to out, with where its sections begin and
// the last one ends. It begins with the labels.
CH_CHECKED enum ch_status ctf_old_upgrade(const struct ctf_old *old, struct text *out,
                                          uint32_t out_offsets[CTF_SECTION_COUNT + 1]);
