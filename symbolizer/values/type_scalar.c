// SPDX-License-Identifier: Apache-2.0
#include "symbolizer/values/type_scalar.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

enum { SCALAR_BITS_MAX = 128 };

__extension__ typedef unsigned __int128 wide;

// read_bits reads a number of that many bits at place.
static bool read_bits(const struct memory_reader *memory,
                      const struct type_place *place, unsigned bits, wide *out)
{
    uint8_t bytes[SCALAR_BITS_MAX / 8 + 1] = { 0 };
    size_t size = (place->shift + bits + 7) / 8;
    if (bits == 0 || bits > SCALAR_BITS_MAX ||
        memory_read(memory, place->address, bytes, size) != CH_OK)
        return false;
    wide low = 0;
    for (size_t i = sizeof(wide); i > 0; i--)
        low = low << 8 | bytes[i - 1];
    *out = low >> place->shift;
    if (place->shift != 0)
        *out |= (wide)bytes[sizeof(wide)] << (SCALAR_BITS_MAX - place->shift);
    if (bits < SCALAR_BITS_MAX)
        *out &= ((wide)1 << bits) - 1;
    return true;
}

static json_t *scalar_hex_value(wide value)
{
    uint64_t high = (uint64_t)(value >> 64);
    if (high == 0)
        return json_sprintf("0x%" PRIx64, (uint64_t)value);
    return json_sprintf("0x%" PRIx64 "%016" PRIx64, high, (uint64_t)value);
}

static json_t *integer_value(const struct type *type, unsigned bits, wide value)
{
    if (type->encoding & TYPE_BOOLEAN && value <= 1)
        return json_boolean((int)value);
    bool negative =
        (type->encoding & TYPE_SIGNED) != 0 && (value >> (bits - 1) & 1) != 0;
    if (negative && bits <= 64)
        return json_integer(
            (json_int_t)((uint64_t)value | (bits < 64 ? ~0ull << bits : 0)));
    return value <= INT64_MAX ? json_integer((json_int_t)value)
                              : scalar_hex_value(value);
}

static json_t *enum_value(const struct type_table *table, const struct type *type,
                          unsigned bits, wide value)
{
    const struct type number = { .encoding = TYPE_SIGNED };
    wide mask = bits < SCALAR_BITS_MAX ? ((wide)1 << bits) - 1 : ~(wide)0;
    for (uint32_t i = 0; i < type->part_count; i++) {
        const struct type_part *part = &table->parts[type->first_part + i];
        if (((wide)(uint64_t)part->value & mask & UINT64_MAX) == value)
            return json_string(part->name);
    }
    return integer_value(&number, bits, value);
}

// real_value gives a number, or a string for the infinities and NaN that JSON lacks.
static json_t *real_value(double value)
{
    if (isnan(value))
        return json_string("nan");
    if (isinf(value))
        return json_string(value < 0 ? "-inf" : "inf");
    return json_real(value);
}

static json_t *float_of(const uint8_t *bytes, uint64_t size)
{
    float single;
    double real;
    long double longer = 0;
    switch (size) {
    case sizeof(single):
        memcpy(&single, bytes, sizeof(single));
        return real_value(single);
    case sizeof(real):
        memcpy(&real, bytes, sizeof(real));
        return real_value(real);
    case sizeof(longer):
        memcpy(&longer, bytes, sizeof(longer));
        return real_value((double)longer);
    default:
        return json_null();
    }
}

static json_t *float_value(const struct type *type, const struct memory_reader *memory,
                           uint64_t address)
{
    uint8_t bytes[64];
    if (type->size > sizeof(bytes) ||
        memory_read(memory, address, bytes, (size_t)type->size) != CH_OK)
        return NULL;
    if (!(type->encoding & TYPE_COMPLEX))
        return float_of(bytes, type->size);
    uint64_t half = type->size / 2;
    return json_pack("[o, o]", float_of(bytes, half), float_of(bytes + half, half));
}

json_t *type_scalar_value(const struct type_table *table,
                          const struct memory_reader *memory,
                          const struct type_place *place)
{
    const struct type *type = &table->types[type_strip(table, place->type)];
    uint64_t bits = type->kind == TYPE_SLICE ? type->bits : type->size * 8;
    wide value;
    if (type->kind == TYPE_SLICE)
        type = &table->types[type_strip(table, type->target)];
    if (type->kind == TYPE_FLOAT)
        return float_value(type, memory, place->address);
    if (bits == 0)
        return json_null(); // void
    if (bits > SCALAR_BITS_MAX || !read_bits(memory, place, (unsigned)bits, &value))
        return NULL;
    return type->kind == TYPE_ENUM ? enum_value(table, type, (unsigned)bits, value)
                                   : integer_value(type, (unsigned)bits, value);
}
