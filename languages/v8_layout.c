// SPDX-License-Identifier: Apache-2.0
#include "languages/v8_layout.h"

#include <stdio.h>
#include <string.h>

#include "images/image_symbol.h"

enum v8_range { V8_ANY, V8_FROM_FRAME, V8_IN_OBJECT, V8_TYPE, V8_OPTIONAL };

enum {
    V8_WORD = 8,
    V8_OBJECT_MAX = 1024,
    V8_FRAME_MAX = 256,
    V8_NOT_STRING = 0x80,
};

// A v8_number is one number of the metadata: where it goes, and what it may be.
struct v8_number {
    const char *name; // without v8dbg_
    uint16_t at;
    uint8_t range; // enum v8_range
};

#define NUMBER(member, range, name)                                                    \
    {                                                                                  \
        name, offsetof(struct v8_layout, member), range                                \
    }

static const struct v8_number v8_numbers[] = {
    NUMBER(tagged_size, V8_ANY, "TaggedSize"),
    NUMBER(frame_type, V8_FROM_FRAME, "off_fp_context_or_frame_type"),
    NUMBER(frame_function, V8_FROM_FRAME, "off_fp_function"),
    NUMBER(frame_bytecode, V8_FROM_FRAME, "off_fp_bytecode_array"),
    NUMBER(frame_offset, V8_FROM_FRAME, "off_fp_bytecode_offset"),
    NUMBER(builtin_exit, V8_TYPE, "frametype_BuiltinExitFrame"),
    NUMBER(map_type, V8_IN_OBJECT, "class_Map__instance_type__uint16_t"),
    NUMBER(function_shared, V8_IN_OBJECT,
           "class_JSFunction__shared__SharedFunctionInfo"),
    NUMBER(shared_data, V8_IN_OBJECT,
           "class_SharedFunctionInfo__function_data__Object"),
    NUMBER(shared_name, V8_IN_OBJECT,
           "class_SharedFunctionInfo__name_or_scope_info__Object"),
    NUMBER(shared_script, V8_IN_OBJECT,
           "class_SharedFunctionInfo__script_or_debug_info__HeapObject"),
    NUMBER(script_name, V8_IN_OBJECT, "class_Script__name__Object"),
    NUMBER(script_source, V8_IN_OBJECT, "class_Script__source__Object"),
    NUMBER(script_line_ends, V8_IN_OBJECT, "class_Script__line_ends__Object"),
    NUMBER(bytecode_data, V8_IN_OBJECT, "class_BytecodeArray__data__uintptr_t"),
    NUMBER(scope_locals, V8_IN_OBJECT, "scopeinfo_idx_ncontextlocals"),
    NUMBER(scope_first, V8_IN_OBJECT, "scopeinfo_idx_first_vars"),
    NUMBER(type_function, V8_TYPE, "type_JSFunction__JS_FUNCTION_TYPE"),
    NUMBER(type_shared, V8_TYPE, "type_SharedFunctionInfo__SHARED_FUNCTION_INFO_TYPE"),
    NUMBER(type_script, V8_TYPE, "type_Script__SCRIPT_TYPE"),
    NUMBER(type_bytecode, V8_TYPE, "type_BytecodeArray__BYTECODE_ARRAY_TYPE"),
    NUMBER(type_bytes, V8_TYPE, "type_ByteArray__BYTE_ARRAY_TYPE"),
    NUMBER(type_array, V8_TYPE, "type_FixedArray__FIXED_ARRAY_TYPE"),
    NUMBER(type_scope, V8_TYPE, "type_ScopeInfo__SCOPE_INFO_TYPE"),
    NUMBER(type_code, V8_TYPE, "type_Code__CODE_TYPE"),
    NUMBER(first_not_string, V8_TYPE, "FirstNonstringType"),
    NUMBER(code_start, V8_OPTIONAL, "class_Code__instruction_start__uintptr_t"),
};

// may_be returns true if a number is in its range.
static bool may_be(enum v8_range range, int32_t value)
{
    switch (range) {
    case V8_FROM_FRAME:
        return value < 0 && value >= -V8_FRAME_MAX && value % V8_WORD == 0;
    case V8_IN_OBJECT:
    case V8_OPTIONAL:
        return value >= 0 && value < V8_OBJECT_MAX;
    case V8_TYPE:
        return value >= 0 && value <= UINT16_MAX;
    case V8_ANY:
        break;
    }
    return true;
}

enum ch_status v8_layout_take(v8_number_fn *number, void *context,
                              struct v8_layout *out)
{
    struct v8_layout layout = { 0 };
    for (size_t i = 0; i < sizeof(v8_numbers) / sizeof(v8_numbers[0]); i++) {
        const struct v8_number *one = &v8_numbers[i];
        int32_t value = 0;
        if ((!number(context, one->name, &value) && one->range != V8_OPTIONAL) ||
            !may_be((enum v8_range)one->range, value))
            return CH_ERR_UNSUPPORTED;
        memcpy((char *)&layout + one->at, &value, sizeof(value));
    }
    // Words that are compressed, and kinds of texts as they were once, are not read.
    if (layout.tagged_size != V8_WORD || layout.first_not_string != V8_NOT_STRING)
        return CH_ERR_UNSUPPORTED;
    *out = layout;
    return CH_OK;
}

// A v8_image is where symbols are looked up.
struct v8_image {
    const struct memory_reader *reader;
    const struct target_image *image;
};

// read_v8_number is a v8_number_fn over struct v8_image.
static bool read_v8_number(void *context, const char *name, int32_t *out)
{
    const struct v8_image *from = context;
    char symbol[128];
    uint64_t address;
    (void)snprintf(symbol, sizeof(symbol), "v8dbg_%s", name);
    return image_symbol_find(from->reader, from->image, symbol, &address) == CH_OK &&
           memory_read(from->reader, address, out, sizeof(*out)) == CH_OK;
}

enum ch_status v8_layout_read(const struct memory_reader *reader,
                              const struct target_image *image, struct v8_layout *out)
{
    struct v8_image from = { reader, image };
    int32_t tag;
    if (!read_v8_number(&from, v8_numbers[0].name, &tag))
        return CH_ERR_NOT_FOUND;
    return v8_layout_take(read_v8_number, &from, out);
}
