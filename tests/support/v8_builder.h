// SPDX-License-Identifier: Apache-2.0
//
// The memory of a process with frames of V8 11.3: of `outer`, which the interpreter
// runs, of optimized code of `outer` with `inner` inlined into it, and of a call of
// `outer` out of JavaScript.
#pragma once
#include <stdint.h>
#include <string.h>

#include "languages/v8.h"

enum {
    V8_MEMORY = 0x100000, // its address
    V8_MEMORY_BYTES = 0x2000,
    V8_AT_FUNCTION = 0x400,
    V8_AT_OUTER = 0x480, // what all closures share
    V8_AT_INNER = 0x500,
    V8_AT_SCRIPT = 0x580,
    V8_AT_LINE_ENDS = 0x600,
    V8_AT_BYTECODES = 0x680,
    V8_AT_POSITIONS = 0x700, // of bytecodes; those of code are 0x40 further
    V8_AT_CODE = 0x780,
    V8_AT_DEOPT = 0x800,
    V8_AT_INLINED = 0x880,
    V8_AT_LITERALS = 0x8c0,
    V8_AT_SCOPE = 0x900,
    V8_AT_STREAM = 0x980,
    V8_AT_TEXTS = 0xa00,
    V8_AT_STACK = 0x1000,
    V8_FP_INTERPRETED = 0x1100,
    V8_FP_OPTIMIZED = 0x1200,
    V8_FP_EXIT = 0x1300,
    V8_PC_OPTIMIZED = V8_MEMORY + V8_AT_STREAM + 16 + 4,
};

// Types of objects, in the order of their maps.
enum {
    V8_MAP_FUNCTION,
    V8_MAP_SHARED,
    V8_MAP_SCRIPT,
    V8_MAP_BYTECODES,
    V8_MAP_BYTES,
    V8_MAP_ARRAY,
    V8_MAP_SCOPE,
    V8_MAP_CODE,
    V8_MAP_STREAM,
    V8_MAP_ONE_BYTE,
    V8_MAP_TWO_BYTES,
    V8_MAP_JOINED,
    V8_MAP_SLICED,
    V8_MAP_THIN,
    V8_MAPS,
};

// A v8_metadata is a number of the metadata.
struct v8_metadata {
    const char *name;
    int32_t value;
};

static const struct v8_metadata v8_metadata_11[] = {
    { "TaggedSize", 8 },
    { "off_fp_context_or_frame_type", -8 },
    { "off_fp_function", -16 },
    { "off_fp_bytecode_array", -32 },
    { "off_fp_bytecode_offset", -40 },
    { "frametype_BuiltinExitFrame", 25 },
    { "class_Map__instance_type__uint16_t", 12 },
    { "class_JSFunction__shared__SharedFunctionInfo", 24 },
    { "class_SharedFunctionInfo__function_data__Object", 8 },
    { "class_SharedFunctionInfo__name_or_scope_info__Object", 16 },
    { "class_SharedFunctionInfo__script_or_debug_info__HeapObject", 32 },
    { "class_Script__source__Object", 8 },
    { "class_Script__name__Object", 16 },
    { "class_Script__line_ends__Object", 56 },
    { "class_BytecodeArray__data__uintptr_t", 54 },
    { "scopeinfo_idx_ncontextlocals", 2 },
    { "scopeinfo_idx_first_vars", 3 },
    { "type_JSFunction__JS_FUNCTION_TYPE", 2066 },
    { "type_SharedFunctionInfo__SHARED_FUNCTION_INFO_TYPE", 262 },
    { "type_Script__SCRIPT_TYPE", 167 },
    { "type_BytecodeArray__BYTECODE_ARRAY_TYPE", 191 },
    { "type_ByteArray__BYTE_ARRAY_TYPE", 190 },
    { "type_FixedArray__FIXED_ARRAY_TYPE", 175 },
    { "type_ScopeInfo__SCOPE_INFO_TYPE", 261 },
    { "type_Code__CODE_TYPE", 245 },
    { "FirstNonstringType", 128 },
};
enum { V8_METADATA_COUNT = sizeof(v8_metadata_11) / sizeof(v8_metadata_11[0]) };

// v8_metadata_number is a v8_number_fn over an array like that one.
static inline bool v8_metadata_number(void *context, const char *name, int32_t *out)
{
    const struct v8_metadata *all = context;
    for (size_t i = 0; i < V8_METADATA_COUNT; i++)
        if (strcmp(all[i].name, name) == 0) {
            *out = all[i].value;
            return true;
        }
    return false;
}

static inline void v8_put(uint8_t *memory, uint64_t at, uint64_t value, size_t size)
{
    memcpy(memory + at, &value, size);
}

// v8_put_object writes a reference to what is at `to`.
static inline void v8_put_object(uint8_t *memory, uint64_t at, uint64_t to)
{
    v8_put(memory, at, V8_MEMORY + to + 1, 8);
}

static inline void v8_put_small(uint8_t *memory, uint64_t at, uint32_t value)
{
    v8_put(memory, at, (uint64_t)value << 32, 8);
}

// v8_put_head begins an object: its map, and its length where it has one.
static inline void v8_put_head(uint8_t *memory, uint64_t at, unsigned map,
                               uint32_t length)
{
    v8_put_object(memory, at, 0x20 * map);
    v8_put_small(memory, at + 8, length); // of a text, the upper half is its length
}

static inline void v8_put_bytes(uint8_t *memory, uint64_t at, const void *bytes,
                                size_t size)
{
    v8_put_head(memory, at, V8_MAP_BYTES, (uint32_t)size);
    memcpy(memory + at + 16, bytes, size);
}

static inline void v8_put_text(uint8_t *memory, uint64_t at, const char *text)
{
    v8_put_head(memory, at, V8_MAP_ONE_BYTE, (uint32_t)strlen(text));
    memcpy(memory + at + 16, text, strlen(text));
}

static inline void v8_put_shared(uint8_t *memory, uint64_t at, uint64_t name)
{
    v8_put_head(memory, at, V8_MAP_SHARED, 0);
    v8_put_object(memory, at + 8, V8_AT_BYTECODES);
    v8_put_object(memory, at + 16, name);
    v8_put_object(memory, at + 32, V8_AT_SCRIPT);
}

static inline void v8_put_frame(uint8_t *memory, uint64_t fp)
{
    v8_put_object(memory, fp - 8, 0); // some context
    v8_put_object(memory, fp - 16, V8_AT_FUNCTION);
}

// v8_build_code builds optimized code whose instructions 2 to 9 are of `inner`, at
// character 20, which `outer` calls at character 10.
static inline void v8_build_code(uint8_t *memory)
{
    static const uint8_t safepoints[8];
    uint8_t inlined[16] = { 11 << 1 }; // character 10, inlined nowhere; literal 0
    static const uint8_t positions[] = { 0x06, 0xd4, 0x80, 0x80, 0x80, 0x10 };
    const uint64_t instructions = V8_AT_STREAM + 16;
    v8_put_head(memory, V8_AT_CODE, V8_MAP_CODE, 0);
    v8_put_object(memory, V8_AT_CODE + 16, V8_AT_DEOPT);
    v8_put_object(memory, V8_AT_CODE + 24, V8_AT_POSITIONS + 0x40);
    v8_put_object(memory, V8_AT_CODE + 32, V8_AT_STREAM);
    v8_put(memory, V8_AT_CODE + 40, V8_MEMORY + instructions, 8);
    v8_put(memory, V8_AT_CODE + 48, 13, 4); // of the optimizing compiler
    v8_put(memory, V8_AT_CODE + 56, 16, 4);
    v8_put_head(memory, V8_AT_STREAM, V8_MAP_STREAM, 0);
    v8_put_object(memory, V8_AT_STREAM + 8, V8_AT_CODE);
    memcpy(memory + instructions + 16, safepoints, sizeof(safepoints));
    v8_put_bytes(memory, V8_AT_POSITIONS + 0x40, positions, sizeof(positions));
    v8_put_bytes(memory, V8_AT_INLINED, inlined, sizeof(inlined));
    v8_put_head(memory, V8_AT_DEOPT, V8_MAP_ARRAY, 8);
    v8_put_object(memory, V8_AT_DEOPT + 16 + 8 * 2, V8_AT_LITERALS);
    v8_put_object(memory, V8_AT_DEOPT + 16 + 8 * 6, V8_AT_OUTER);
    v8_put_object(memory, V8_AT_DEOPT + 16 + 8 * 7, V8_AT_INLINED);
    v8_put_head(memory, V8_AT_LITERALS, V8_MAP_ARRAY, 1);
    v8_put_object(memory, V8_AT_LITERALS + 16, V8_AT_INNER);
}

static inline void v8_build(uint8_t *memory)
{
    static const uint16_t types[V8_MAPS] = { 2066, 262, 167, 191, 190, 175, 261,
                                             245,  252, 40,  32,  41,  43,  45 };
    static const uint8_t positions[] = { 0x02, 14 << 2 }; // from 0 on, character 13
    memset(memory, 0, V8_MEMORY_BYTES);
    for (unsigned i = 0; i < V8_MAPS; i++) {
        v8_put_object(memory, 0x20 * i, 0);
        v8_put(memory, 0x20 * i + 12, types[i], 2);
    }
    v8_put_head(memory, V8_AT_FUNCTION, V8_MAP_FUNCTION, 0);
    v8_put_object(memory, V8_AT_FUNCTION + 24, V8_AT_OUTER);
    v8_put_object(memory, V8_AT_FUNCTION + 48, V8_AT_CODE);
    v8_put_text(memory, V8_AT_TEXTS, "outer");
    v8_put_text(memory, V8_AT_TEXTS + 0x40, "inner");
    v8_put_text(memory, V8_AT_TEXTS + 0x80, "/srv/shop.js");
    v8_put_text(memory, V8_AT_TEXTS + 0xc0, "012345\n89012345\n789012345\n");
    v8_put_shared(memory, V8_AT_OUTER, V8_AT_TEXTS);
    v8_put_shared(memory, V8_AT_INNER, V8_AT_TEXTS + 0x40);
    v8_put_head(memory, V8_AT_SCRIPT, V8_MAP_SCRIPT, 0);
    v8_put_object(memory, V8_AT_SCRIPT + 8, V8_AT_TEXTS + 0xc0);
    v8_put_object(memory, V8_AT_SCRIPT + 16, V8_AT_TEXTS + 0x80);
    v8_put_object(memory, V8_AT_SCRIPT + 56, V8_AT_LINE_ENDS);
    v8_put_head(memory, V8_AT_LINE_ENDS, V8_MAP_ARRAY, 3);
    v8_put_small(memory, V8_AT_LINE_ENDS + 16, 6);
    v8_put_small(memory, V8_AT_LINE_ENDS + 24, 15);
    v8_put_small(memory, V8_AT_LINE_ENDS + 32, 25);
    v8_put_head(memory, V8_AT_BYTECODES, V8_MAP_BYTECODES, 4);
    v8_put_object(memory, V8_AT_BYTECODES + 32, V8_AT_POSITIONS);
    v8_put_bytes(memory, V8_AT_POSITIONS, positions, sizeof(positions));
    v8_build_code(memory);
    v8_put_frame(memory, V8_FP_INTERPRETED);
    v8_put_object(memory, V8_FP_INTERPRETED - 32, V8_AT_BYTECODES);
    v8_put_small(memory, V8_FP_INTERPRETED - 40, 53 + 2);
    v8_put_frame(memory, V8_FP_OPTIMIZED);
    v8_put(memory, V8_FP_EXIT - 8, 25 << 1, 8);
    v8_put_object(memory, V8_FP_EXIT + 24, V8_AT_FUNCTION);
}

// v8_of is V8 in that memory; image is any.
static inline struct v8 v8_of(const struct memory_reader *reader,
                              const struct target_image *image)
{
    struct v8_metadata all[V8_METADATA_COUNT];
    struct v8 v8 = { .heap.reader = reader, .image = image };
    memcpy(all, v8_metadata_11, sizeof(all));
    if (v8_layout_take(v8_metadata_number, all, &v8.heap.layout) != CH_OK)
        v8.image = NULL;
    return v8;
}
