// SPDX-License-Identifier: Apache-2.0
//
// How it works: v8_collect gets one frame of a native walk and adds the JavaScript
// functions that it stands for to the table (interpreted.h), innermost first.
//
// 1. v8_function_at finds the function from the frame's slots. A frame that is none of
//    a function has the number of its type there, and is left alone.
// 2. The code at pc decides what runs (collect_function): interpreted frames have their
//    bytecodes and the offset in the frame; baseline code has the bytecodes, and
//    baseline_offset finds the offset from the pc; optimized code has a list of the
//    functions inlined at each pc (collect_optimized).
// 3. position_in turns an offset into a place in the source; v8_describe turns that
//    into a name, a file and a line when the frame is written.
//
// Invariants: an object counts as what it should be only if its map says so (v8_type,
// is_v8_code_at). Each list and text has a limit; v8_has_time bounds the time for all
// frames of a process. A function whose position is not known is added without one
// (-1). A frame with the same function, pc and offset as an earlier one gets that one's
// group.
#include "languages/v8.h"

#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "images/image_symbol.h"

// What the metadata does not say, or not of both V8 10 and 11: offsets in objects, but
// for the first two.
enum {
    V8_FUNCTION_TYPES = 32, // types from that of functions on that are functions
    V8_EXIT_FUNCTION = 24,  // from the frame pointer of a call out of JavaScript
    V8_FUNCTION_CODE = 24,  // after what all closures of a function share
    V8_BYTECODE_POSITIONS = 32,
    V8_CODE_DEOPT = 16,
    V8_CODE_POSITIONS = 24,
    V8_CODE_FLAGS = 48,
    V8_CODE_KIND = 15,     // of the flags
    V8_CODE_BASELINE = 11, // the kinds after it are of optimizing compilers
    V8_CODE_ALIGNMENT = 32,
    V8_CODE_BACK =
        64 << 10,        // of code, how far before an address its start is looked for
    V8_CODE_SIZE = 40,   // where the instructions are in the code itself
    V8_CODE_STREAM = 32, // where they are in a stream; then their address
    V8_CODE_STREAM_SIZE = 56,
    V8_STREAM_CODE = 8,
    V8_STREAM_HEAD = 16,
    V8_DEOPT_LITERALS = 2, // in an array
    V8_DEOPT_SHARED = 6,
    V8_DEOPT_INLINED = 7,
    V8_INLINED_BYTES = 16, // of an entry of inlined functions: position, number
    V8_WEAK = 2,           // a reference that keeps nothing alive
};

static bool may_have_v8(const struct target_image *image)
{
    static const char *const names[] = { "node", "v8", "electron", "chrom" };
    const char *slash = memrchr(image->path, '/', image->path_size);
    const char *name = slash != NULL ? slash + 1 : image->path;
    size_t size = image->path_size - (size_t)(name - image->path);
    bool may = image->entry != 0;
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
        may = may || memmem(name, size, names[i], strlen(names[i])) != NULL;
    return may;
}

enum ch_status v8_open(struct v8 *v8, const struct memory_reader *reader,
                       const struct target_images *images)
{
    *v8 = (struct v8){ .heap.reader = reader };
    if (reader->big_endian || reader->narrow)
        return CH_ERR_NOT_FOUND;
    for (size_t i = 0; i < images->count; i++) {
        const struct target_image *image = &images->images[i];
        if (!may_have_v8(image))
            continue;
        enum ch_status status = v8_layout_read(reader, image, &v8->heap.layout);
        if (status == CH_ERR_NOT_FOUND)
            continue;
        if (status != CH_OK)
            return status;
        v8->image = image;
        return CH_OK;
    }
    return CH_ERR_NOT_FOUND;
}

// shared_of gives what all closures of a function share. False: it is no function.
static bool shared_of(const struct v8 *v8, uint64_t function, uint64_t *out)
{
    int32_t type = v8_type(&v8->heap, function);
    return type >= v8->heap.layout.type_function &&
           type < v8->heap.layout.type_function + V8_FUNCTION_TYPES &&
           v8_field(&v8->heap, function, v8->heap.layout.function_shared, out) &&
           v8_type(&v8->heap, *out) == v8->heap.layout.type_shared;
}

// position_in gives the position of the code at offset by a table.
static bool position_in(const struct v8 *v8, uint64_t table, int64_t offset,
                        struct v8_position *out)
{
    size_t size;
    uint8_t *bytes = v8_bytes(&v8->heap, table, V8_TABLE_MAX, &size);
    bool found = bytes != NULL && v8_positions_find(bytes, size, offset, out) == CH_OK;
    free(bytes);
    return found;
}

static void add_function(struct v8 *v8, struct interpreted *table, uint64_t shared,
                         int32_t offset)
{
    uint32_t line = v8_line(&v8->heap, shared, offset);
    const struct interpreted_frame frame = { .code = shared,
                                             .offset = line != 0 && line <= INT32_MAX
                                                           ? (int32_t)line
                                                           : INTERPRETED_NO_OFFSET };
    if (interpreted_add(table, frame) != CH_OK)
        v8->problem = "no memory for all frames";
}

// A v8_code is code that was compiled, and where its instructions are.
struct v8_code {
    uint64_t object;
    uint64_t start;
    uint64_t size;
};

// find_code finds the instructions of code: in itself, or in a stream of their own.
static bool find_code(const struct v8 *v8, uint64_t object, struct v8_code *out)
{
    const struct v8_layout *layout = &v8->heap.layout;
    uint64_t stream;
    uint64_t entry;
    uint64_t back;
    uint64_t size;
    bool apart = layout->code_start == 0;
    if (v8_type(&v8->heap, object) != layout->type_code)
        return false;
    *out = (struct v8_code){ object, object - V8_TAG + layout->code_start, 0 };
    if (!v8_field(&v8->heap, object, apart ? V8_CODE_STREAM_SIZE : V8_CODE_SIZE, &size))
        return false;
    out->size = size & INT32_MAX;
    if (!apart)
        return true;
    if (!v8_field(&v8->heap, object, V8_CODE_STREAM, &stream) ||
        !v8_field(&v8->heap, object, V8_CODE_STREAM + 8, &entry) ||
        entry != stream - V8_TAG + V8_STREAM_HEAD ||
        !v8_field(&v8->heap, stream, V8_STREAM_CODE, &back) || back != object)
        return false;
    out->start = entry;
    return true;
}

static bool is_v8_code_at(const struct v8 *v8, uint64_t object, uint64_t pc,
                          struct v8_code *out)
{
    return find_code(v8, object, out) && pc - out->start < out->size;
}

// search_code looks for the start of the code at pc: what precedes it refers to the
// code, or begins it.
static bool search_code(const struct v8 *v8, uint64_t pc, struct v8_code *out)
{
    uint64_t head = v8->heap.layout.code_start;
    uint64_t start = pc & ~(uint64_t)(V8_CODE_ALIGNMENT - 1);
    for (unsigned i = 0; i < V8_CODE_BACK / V8_CODE_ALIGNMENT; i++) {
        uint64_t word;
        uint64_t at = head != 0 ? start - head : start - V8_CODE_ALIGNMENT / 4;
        if (memory_read_word(v8->heap.reader, at, &word) != CH_OK)
            return false;
        bool may = (word & V8_TAG_MASK) == V8_TAG && word >> 48 == 0;
        if (may && is_v8_code_at(v8, head != 0 ? at + V8_TAG : word, pc, out))
            return true;
        start -= V8_CODE_ALIGNMENT;
    }
    return false;
}

// code_at finds the code that pc is in: mostly that which the function has now.
static bool code_at(const struct v8 *v8, uint64_t function, uint64_t shared,
                    uint64_t pc, struct v8_code *out)
{
    uint64_t object;
    if (v8_field(&v8->heap, function,
                 v8->heap.layout.function_shared + V8_FUNCTION_CODE, &object) &&
        is_v8_code_at(v8, object, pc, out))
        return true;
    if (v8_field(&v8->heap, shared, v8->heap.layout.shared_data, &object) &&
        is_v8_code_at(v8, object, pc, out))
        return true;
    return search_code(v8, pc, out);
}

static bool is_optimized(const struct v8 *v8, const struct v8_code *code)
{
    uint64_t flags;
    return v8_field(&v8->heap, code->object, V8_CODE_FLAGS, &flags) &&
           (flags & V8_CODE_KIND) > V8_CODE_BASELINE;
}

// read_bytecode_sizes reads the sizes of all bytecodes, and gives how many there are;
// 0: they are not known.
static size_t read_bytecode_sizes(const struct v8 *v8, uint8_t *sizes, size_t room)
{
    static const char symbol[] = "_ZN2v88internal11interpreter9Bytecodes14kBytecode"
                                 "SizesE";
    uint64_t address;
    uint64_t size;
    return image_symbol_find_range(v8->heap.reader, v8->image, symbol, &address,
                                   &size) == CH_OK &&
                   size <= room && size % V8_BYTECODE_SCALES == 0 &&
                   memory_read(v8->heap.reader, address, sizes, (size_t)size) == CH_OK
               ? (size_t)(size / V8_BYTECODE_SCALES)
               : 0;
}

// read_bytecodes reads the bytecodes of a function; NULL: they cannot be read.
static uint8_t *read_bytecodes(const struct v8 *v8, uint64_t bytecodes,
                               size_t *out_size)
{
    uint64_t field;
    int32_t length;
    if (!v8_field(&v8->heap, bytecodes, V8_LENGTH, &field) ||
        !v8_small(field, &length) || length < 0 || length > V8_TABLE_MAX)
        return NULL;
    uint8_t *bytes = malloc((size_t)length + 1);
    *out_size = (size_t)length;
    if (bytes != NULL &&
        memory_read(v8->heap.reader,
                    bytecodes - V8_TAG + (uint64_t)v8->heap.layout.bytecode_data, bytes,
                    (size_t)length) == CH_OK)
        return bytes;
    free(bytes);
    return NULL;
}

// baseline_offset gives which of a function's bytecodes baseline code at pc does.
// False: it is not known.
static bool baseline_offset(const struct v8 *v8, uint64_t shared, uint64_t bytecodes,
                            uint64_t pc, int64_t *out)
{
    uint8_t sizes[V8_BYTECODES_MAX * V8_BYTECODE_SCALES];
    struct v8_baseline baseline = { .sizes = sizes };
    struct v8_code code;
    uint64_t field;
    if (!v8_field(&v8->heap, shared, v8->heap.layout.shared_data, &field) ||
        !find_code(v8, field, &code) || pc - code.start >= code.size ||
        !v8_field(&v8->heap, code.object, V8_CODE_POSITIONS, &field))
        return false;
    baseline.count = read_bytecode_sizes(v8, sizes, sizeof(sizes));
    uint8_t *table = v8_bytes(&v8->heap, field, V8_TABLE_MAX, &baseline.table_size);
    uint8_t *bytes = read_bytecodes(v8, bytecodes, &baseline.bytecodes_size);
    baseline.table = table;
    baseline.bytecodes = bytes;
    // What a call returns to belongs to the call.
    bool found = table != NULL && bytes != NULL &&
                 v8_baseline_find(&baseline, pc + 1 - code.start, out) == CH_OK;
    free(table);
    free(bytes);
    return found;
}

// collect_bytecodes adds the function of an interpreted frame, or of baseline code.
static void collect_bytecodes(struct v8 *v8, const struct v8_frame *frame,
                              uint64_t shared, uint64_t bytecodes, uint64_t progress,
                              struct interpreted *table)
{
    struct v8_position position = { -1, -1 };
    uint64_t positions;
    int32_t interpreted;
    int64_t offset = 0;
    bool known;
    if (v8_small(progress, &interpreted)) {
        offset = (int64_t)interpreted - (v8->heap.layout.bytecode_data - V8_TAG);
        known = offset >= 0;
    } else {
        known = baseline_offset(v8, shared, bytecodes, frame->pc, &offset);
    }
    // The entry of a function is its first position.
    if (!known || !v8_field(&v8->heap, bytecodes, V8_BYTECODE_POSITIONS, &positions) ||
        !position_in(v8, positions, offset > 0 ? offset : 0, &position))
        position.offset = -1;
    add_function(v8, table, shared, position.offset);
}

// An inlining is optimized code's list of the functions inlined into it.
struct inlining {
    uint8_t *calls; // a position and the number of a function for each
    size_t size;
    uint64_t literals;
    uint64_t shared; // of the code's own function
};

// inlined_function gives the function of an entry and where it was called.
static bool inlined_function(const struct v8 *v8, const struct inlining *inlining,
                             int32_t number, uint64_t *out_shared,
                             struct v8_position *out_call)
{
    struct cursor c = cursor_over(inlining->calls, inlining->size);
    cursor_seek(&c, (size_t)number * V8_INLINED_BYTES);
    *out_call = v8_position_unpack(cursor_u64(&c));
    int32_t literal = (int32_t)cursor_u32(&c);
    uint64_t field;
    int32_t count;
    if (!cursor_ok(&c))
        return false;
    *out_shared = inlining->shared;
    if (literal == -1)
        return true; // the function itself
    if (!v8_field(&v8->heap, inlining->literals, V8_LENGTH, &field) ||
        !v8_small(field, &count) || literal < 0 || literal >= count ||
        !v8_field(&v8->heap, inlining->literals, V8_DATA + 8 * (int64_t)literal,
                  &field))
        return false;
    *out_shared = field & ~(uint64_t)V8_WEAK;
    return v8_type(&v8->heap, *out_shared) == v8->heap.layout.type_shared;
}

static bool open_inlining(const struct v8 *v8, const struct v8_code *code,
                          struct inlining *out)
{
    const struct v8_layout *layout = &v8->heap.layout;
    uint64_t deopt;
    uint64_t calls;
    return v8_field(&v8->heap, code->object, V8_CODE_DEOPT, &deopt) &&
           v8_type(&v8->heap, deopt) == layout->type_array &&
           v8_field(&v8->heap, deopt, V8_DATA + 8 * V8_DEOPT_LITERALS,
                    &out->literals) &&
           v8_type(&v8->heap, out->literals) >= 0 &&
           v8_field(&v8->heap, deopt, V8_DATA + 8 * V8_DEOPT_SHARED, &out->shared) &&
           v8_field(&v8->heap, deopt, V8_DATA + 8 * V8_DEOPT_INLINED, &calls) &&
           (out->calls = v8_bytes(&v8->heap, calls, V8_TABLE_MAX, &out->size)) != NULL;
}

// offset_in gives how far code has come: where the call is that it was making, also if
// it is not to return there.
static int64_t offset_in(const struct v8 *v8, const struct v8_code *code, uint64_t pc)
{
    uint8_t head[V8_SAFEPOINTS_HEAD];
    uint64_t offset = pc - code->start;
    uint64_t call;
    // The table is after the instructions.
    uint64_t at = code->start + code->size;
    if (memory_read(v8->heap.reader, at, head, sizeof(head)) != CH_OK)
        return (int64_t)offset;
    uint64_t size = v8_safepoints_size(head);
    uint8_t *bytes = size <= V8_TABLE_MAX ? malloc((size_t)size) : NULL;
    if (bytes != NULL &&
        memory_read(v8->heap.reader, at, bytes, (size_t)size) == CH_OK &&
        v8_safepoints_find(bytes, (size_t)size, offset + 1, &call) == CH_OK)
        offset = call - 1;
    free(bytes);
    return (int64_t)offset;
}

// collect_optimized adds the functions at pc in optimized code, innermost first. False:
// they are not known.
static bool collect_optimized(struct v8 *v8, const struct v8_code *code,
                              uint64_t shared, uint64_t pc, struct interpreted *table)
{
    struct inlining inlining = { 0 };
    struct v8_position position;
    uint64_t positions;
    if (!v8_field(&v8->heap, code->object, V8_CODE_POSITIONS, &positions) ||
        !position_in(v8, positions, offset_in(v8, code, pc), &position))
        return false;
    if (position.inlined >= 0 &&
        (!open_inlining(v8, code, &inlining) || inlining.shared != shared)) {
        free(inlining.calls);
        return false;
    }
    for (unsigned i = 0; position.inlined >= 0 && i < V8_INLINED_MAX; i++) {
        uint64_t inner;
        struct v8_position call;
        if (!inlined_function(v8, &inlining, position.inlined, &inner, &call)) {
            position.offset = -1;
            break;
        }
        add_function(v8, table, inner, position.offset);
        position = call;
    }
    free(inlining.calls);
    add_function(v8, table, shared, position.offset);
    return true;
}

// collect_function adds what runs in a frame of a function of JavaScript. Optimized
// code that was entered from a running loop has the interpreter's values in its frame.
static void collect_function(struct v8 *v8, const struct v8_frame *frame,
                             uint64_t function, uint64_t shared,
                             struct interpreted *table)
{
    const struct v8_layout *layout = &v8->heap.layout;
    uint64_t bytecodes;
    uint64_t progress;
    struct v8_code code;
    if (frame->compiled && code_at(v8, function, shared, frame->pc, &code) &&
        is_optimized(v8, &code)) {
        if (!collect_optimized(v8, &code, shared, frame->pc, table))
            add_function(v8, table, shared, -1);
        return;
    }
    if (memory_read_word(v8->heap.reader, frame->fp + layout->frame_bytecode,
                         &bytecodes) == CH_OK &&
        memory_read_word(v8->heap.reader, frame->fp + layout->frame_offset,
                         &progress) == CH_OK &&
        v8_type(&v8->heap, bytecodes) == layout->type_bytecode)
        collect_bytecodes(v8, frame, shared, bytecodes, progress, table);
    else
        add_function(v8, table, shared, -1);
}

// v8_function_at finds the function of a frame. A frame that is none of a function has
// the number of its type instead of a context.
static bool v8_function_at(const struct v8 *v8, const struct v8_frame *frame,
                           uint64_t *out_function, uint64_t *out_shared, bool *out_exit)
{
    const struct v8_layout *layout = &v8->heap.layout;
    uint64_t type;
    uint64_t at = frame->fp + layout->frame_function;
    if (memory_read_word(v8->heap.reader, frame->fp + layout->frame_type, &type) !=
        CH_OK)
        return false;
    *out_exit = (type & 1) == 0;
    if (*out_exit && type >> 1 != (uint64_t)layout->builtin_exit)
        return false;
    if (*out_exit)
        at = frame->fp + V8_EXIT_FUNCTION;
    return memory_read_word(v8->heap.reader, at, out_function) == CH_OK &&
           shared_of(v8, *out_function, out_shared);
}

static bool v8_has_time(struct v8 *v8)
{
    uint64_t now = clock_now_us(CLOCK_MONOTONIC);
    if (v8->deadline_us == 0)
        v8->deadline_us = now + V8_TIME_US;
    if (now > v8->deadline_us)
        v8->problem = "no time for all frames";
    return now <= v8->deadline_us;
}

uint32_t v8_collect(struct v8 *v8, const struct v8_frame *frame,
                    struct interpreted *table)
{
    uint64_t function;
    uint64_t shared;
    uint64_t progress = 0;
    bool exit;
    if (v8->image == NULL || !v8_function_at(v8, frame, &function, &shared, &exit))
        return INTERPRETED_NONE;
    (void)!memory_read_word(v8->heap.reader, frame->fp + v8->heap.layout.frame_offset,
                            &progress);
    const uint64_t key[] = { function, frame->pc, progress };
    uint64_t hash = (function ^ frame->pc * 31 ^ progress >> 7) * 0x9e3779b97f4a7c15;
    struct v8_known_frame *known = &v8->frames[hash >> 56];
    if (memcmp(known->key, key, sizeof(key)) == 0)
        return known->group;
    if (!v8_has_time(v8))
        return INTERPRETED_NONE;
    size_t first = table->frame_count;
    if (exit)
        add_function(v8, table, shared, -1);
    else
        collect_function(v8, frame, function, shared, table);
    uint32_t group = interpreted_end_group(table, first,
                                           frame->compiled ? INTERPRETED_JAVASCRIPT_CODE
                                                           : INTERPRETED_JAVASCRIPT);
    memcpy(known->key, key, sizeof(key));
    known->group = group;
    return group;
}

void v8_describe(const struct v8 *v8, const struct interpreted_frame *frame,
                 struct v8_place *out)
{
    *out = (struct v8_place){ 0 };
    v8_function_name(&v8->heap, frame->code, &out->function);
    if (!v8_script_name(&v8->heap, frame->code, &out->file))
        text_deinit(&out->file);
    else if (frame->offset > 0)
        out->line = (uint32_t)frame->offset;
}

void v8_place_deinit(struct v8_place *place)
{
    text_deinit(&place->function);
    text_deinit(&place->file);
}
