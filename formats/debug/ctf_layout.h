// SPDX-License-Identifier: Apache-2.0
//
// The numbers of CTF version 3 (docs/formats/ctf.md), for the reader of dictionaries
// and for what converts older ones. CTF_BODY_MAX is a limit of ours.
#pragma once
#include <stdbool.h>
#include <stdint.h>

// CTF_BODY_MAX is the largest size of an inflated dictionary.
#define CTF_BODY_MAX (64u << 20)

// CTF_CHILD_BIT is set in the numbers of the types of a unit's own dictionary.
#define CTF_CHILD_BIT 0x80000000u

enum ctf_kind {
    CTF_UNKNOWN,
    CTF_INTEGER,
    CTF_FLOAT,
    CTF_POINTER,
    CTF_ARRAY,
    CTF_FUNCTION,
    CTF_STRUCT,
    CTF_UNION,
    CTF_ENUM,
    CTF_FORWARD,
    CTF_TYPEDEF,
    CTF_VOLATILE,
    CTF_CONST,
    CTF_RESTRICT,
    CTF_SLICE,
};

enum ctf_integer_flag { CTF_SIGNED = 1, CTF_CHARACTER = 2, CTF_BOOLEAN = 4 };

// ctf_is_complex returns true if an encoding of a float is of complex numbers.
static inline bool ctf_is_complex(uint8_t encoding)
{
    return encoding >= 3 && encoding <= 5;
}

enum ctf_section {
    CTF_OBJECTS,
    CTF_FUNCTIONS,
    CTF_OBJECT_NAMES,
    CTF_FUNCTION_NAMES,
    CTF_VARIABLES,
    CTF_TYPES,
    CTF_STRINGS,
    CTF_SECTION_COUNT,
};
