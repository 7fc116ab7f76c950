// SPDX-License-Identifier: Apache-2.0
//
// Addresses and frames, the values of the Backtrace API.
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "crashhook/backtrace_values.h"

static bool is_width(unsigned width)
{
    return width == 16 || width == 32 || width == 64;
}

struct crashhook_address crashhook_address_make(uint64_t value, unsigned width)
{
    if (!is_width(width))
        return (struct crashhook_address){ .bits = 0 };
    return (struct crashhook_address){ .bits = value & UINT64_MAX >> (64 - width),
                                       .width = width };
}

unsigned crashhook_address_bit_width(struct crashhook_address address)
{
    return address.width;
}

bool crashhook_address_is_null(struct crashhook_address address)
{
    return address.bits == 0;
}

int crashhook_address_to_u16(struct crashhook_address address, uint16_t *out)
{
    if (address.width > 16)
        return ERANGE;
    *out = (uint16_t)address.bits;
    return 0;
}

int crashhook_address_to_u32(struct crashhook_address address, uint32_t *out)
{
    if (address.width > 32)
        return ERANGE;
    *out = (uint32_t)address.bits;
    return 0;
}

int crashhook_address_to_u64(struct crashhook_address address, uint64_t *out)
{
    *out = address.bits;
    return 0;
}

int crashhook_address_compare(struct crashhook_address a, struct crashhook_address b)
{
    if (a.bits != b.bits)
        return a.bits < b.bits ? -1 : 1;
    return a.width < b.width ? -1 : a.width > b.width;
}

uint64_t crashhook_address_hash(struct crashhook_address address)
{
    uint64_t mixed = (address.bits ^ address.width) * UINT64_C(0x9e3779b97f4a7c15);
    return mixed ^ mixed >> 32;
}

char *crashhook_address_format(struct crashhook_address address,
                               char text[CRASHHOOK_ADDRESS_TEXT])
{
    snprintf(text, CRASHHOOK_ADDRESS_TEXT, "0x%0*" PRIx64, (int)(address.width / 4),
             address.bits);
    return text;
}

int crashhook_address_parse(const char *text, struct crashhook_address *out)
{
    if (strncmp(text, "0x", 2) != 0)
        return EINVAL;
    size_t digits = strlen(text + 2);
    if (digits > 16 || !is_width((unsigned)digits * 4) ||
        strspn(text + 2, "0123456789abcdefABCDEF") != digits)
        return EINVAL;
    *out = crashhook_address_make(strtoull(text + 2, NULL, 16), (unsigned)digits * 4);
    return 0;
}

struct crashhook_address
crashhook_frame_original_program_counter(const struct crashhook_frame *frame)
{
    if (frame->kind >= CRASHHOOK_FRAME_OMITTED)
        return (struct crashhook_address){ .bits = 0 };
    return frame->address;
}

struct crashhook_address
crashhook_frame_adjusted_program_counter(const struct crashhook_frame *frame)
{
    struct crashhook_address address = crashhook_frame_original_program_counter(frame);
    if (frame->kind == CRASHHOOK_FRAME_RETURN_ADDRESS)
        return crashhook_address_make(address.bits - 1, address.width);
    return address;
}

char *crashhook_frame_description(const struct crashhook_frame *frame)
{
    static const char *const suffixes[] = { "", " [ra]", " [async]" };
    char address[CRASHHOOK_ADDRESS_TEXT];
    char line[CRASHHOOK_ADDRESS_TEXT + sizeof(" [async]")];
    if (frame->kind >= CRASHHOOK_FRAME_OMITTED)
        return strdup("...");
    snprintf(line, sizeof(line), "%s%s",
             crashhook_address_format(frame->address, address), suffixes[frame->kind]);
    return strdup(line);
}
