// SPDX-License-Identifier: Apache-2.0
#include "languages/hotspot.h"

#include <string.h>

#include "unwind/unwind_state.h"

enum {
    SEGMENT_FREE = 0xff,
    SHIFT_MAX = 16,
    HOPS_MAX = 8192, // in the map of segments
    FRAME_WORDS_MAX = 1 << 20,
    BLOB_NAME_BYTES = 24, // enough to distinguish the kinds
};

// Where the interpreter keeps its state in a frame, from the frame pointer
// (cpu/x86/frame_x86.hpp): the caller's stack pointer, the method, the bytecode.
enum { FRAME_SENDER = -8, FRAME_METHOD = -24, FRAME_BYTECODE = -64 };

// Its register for the bytecode is r13, by DWARF's number.
enum { BYTECODE_REGISTER = 13 };

// signed_number reads a signed number of size bytes, at most 4.
static bool signed_number(const struct hotspot *hotspot, uint64_t object,
                          enum hotspot_word member, size_t size, int32_t *out)
{
    uint64_t value;
    if (!hotspot_number(hotspot, object, member, size, &value))
        return false;
    *out = size == sizeof(int16_t) ? (int16_t)value : (int32_t)(uint32_t)value;
    return true;
}

// hotspot_may_go_on counts steps against the limit of all look-ups.
static bool hotspot_may_go_on(struct hotspot *hotspot)
{
    if (++hotspot->work <= HOTSPOT_WORK)
        return true;
    if (hotspot->problem == NULL)
        hotspot->problem = "too much code to look through";
    return false;
}

static bool read_space(const struct hotspot *hotspot, uint64_t space, uint64_t *low,
                       uint64_t *high)
{
    return hotspot_member(hotspot, space, HOTSPOT_SPACE_LOW, low) &&
           hotspot_member(hotspot, space, HOTSPOT_SPACE_HIGH, high) && *low <= *high;
}

static bool read_heap(const struct hotspot *hotspot, uint64_t at,
                      struct hotspot_heap *out)
{
    const uint64_t *word = hotspot->layout.word;
    uint64_t shift;
    if (!read_space(hotspot, at + word[HOTSPOT_HEAP_MEMORY], &out->low, &out->high) ||
        !read_space(hotspot, at + word[HOTSPOT_HEAP_MAP], &out->map, &out->map_high) ||
        !hotspot_number(hotspot, at, HOTSPOT_HEAP_SHIFT, sizeof(uint32_t), &shift) ||
        shift > SHIFT_MAX)
        return false;
    out->shift = (uint32_t)shift;
    return true;
}

enum ch_status hotspot_open_heaps(struct hotspot *hotspot)
{
    uint64_t list;
    uint64_t data;
    uint64_t count;
    if (memory_read_word(hotspot->reader, hotspot->layout.word[HOTSPOT_HEAPS], &list) !=
            CH_OK ||
        !hotspot_member(hotspot, list, HOTSPOT_ARRAY_DATA, &data) ||
        !hotspot_number(hotspot, list, HOTSPOT_ARRAY_LENGTH, sizeof(uint32_t), &count))
        return CH_ERR_FAULT;
    for (uint64_t i = 0; i < count && i < HOTSPOT_HEAPS_MAX; i++) {
        uint64_t at;
        if (memory_read_word(hotspot->reader, data + 8 * i, &at) != CH_OK)
            return CH_ERR_FAULT;
        if (read_heap(hotspot, at, &hotspot->heaps[hotspot->heap_count]))
            hotspot->heap_count++;
    }
    return hotspot->heap_count != 0 ? CH_OK : CH_ERR_MALFORMED;
}

enum ch_status hotspot_open(struct hotspot *hotspot, const struct memory_reader *reader,
                            const struct unwind_arch *arch,
                            const struct target_images *images)
{
    static const char library[] = "/libjvm.so";
    const struct target_image *machine = NULL;
    hotspot->reader = reader;
    hotspot->arch = arch;
    if (arch->id != UNWIND_ARCH_AMD64 || reader->narrow)
        return CH_ERR_NOT_FOUND;
    for (size_t i = 0; machine == NULL && i < images->count; i++)
        if (memmem(images->images[i].path, images->images[i].path_size, library,
                   sizeof(library) - 1) != NULL)
            machine = &images->images[i];
    if (machine == NULL)
        return CH_ERR_NOT_FOUND;
    enum ch_status status = hotspot_layout_read(reader, machine, &hotspot->layout);
    return status == CH_OK ? hotspot_open_heaps(hotspot) : status;
}

// find_hotspot_block finds the beginning of the block of an address in a heap.
static bool find_hotspot_block(struct hotspot *hotspot, const struct hotspot_heap *heap,
                               uint64_t pc, uint64_t *out)
{
    uint64_t segment = (pc - heap->low) >> heap->shift;
    for (size_t i = 0; i < HOPS_MAX && hotspot_may_go_on(hotspot); i++) {
        uint8_t distance;
        if (segment >= heap->map_high - heap->map ||
            memory_read(hotspot->reader, heap->map + segment, &distance, 1) != CH_OK ||
            distance == SEGMENT_FREE || distance > segment)
            return false;
        if (distance == 0) {
            *out = heap->low + (segment << heap->shift);
            return true;
        }
        segment -= distance;
    }
    return false;
}

// kind_of_blob derives from its name whose code it is.
static bool kind_of_blob(const struct hotspot *hotspot, struct hotspot_code *code)
{
    char name[BLOB_NAME_BYTES];
    enum ch_status status =
        memory_read_string(hotspot->reader, code->name, name, sizeof(name));
    if (status != CH_OK && status != CH_ERR_TRUNCATED)
        return false;
    code->kind = HOTSPOT_STUB;
    if (strcmp(name, "Interpreter") == 0)
        code->kind = HOTSPOT_INTERPRETER;
    if (strcmp(name, "nmethod") == 0 || strcmp(name, "native nmethod") == 0)
        code->kind = HOTSPOT_COMPILED;
    return true;
}

static bool read_blob(const struct hotspot *hotspot, uint64_t blob,
                      struct hotspot_code *out)
{
    int32_t words;
    struct hotspot_code code = { .blob = blob };
    size_t complete_size =
        hotspot_has_offsets(&hotspot->layout) ? sizeof(int16_t) : sizeof(int32_t);
    if (!hotspot_member(hotspot, blob, HOTSPOT_BLOB_NAME, &code.name) ||
        !hotspot_place_in_blob(hotspot, blob, HOTSPOT_BLOB_CODE,
                               HOTSPOT_BLOB_CODE_OFFSET, &code.begin) ||
        !hotspot_place_in_blob(hotspot, blob, HOTSPOT_BLOB_CODE_END,
                               HOTSPOT_BLOB_DATA_OFFSET, &code.end) ||
        !signed_number(hotspot, blob, HOTSPOT_BLOB_FRAME, sizeof(int32_t), &words) ||
        !signed_number(hotspot, blob, HOTSPOT_BLOB_COMPLETE, complete_size,
                       &code.complete) ||
        !kind_of_blob(hotspot, &code))
        return false;
    if (words > 1 && words < FRAME_WORDS_MAX)
        code.frame_bytes = (uint64_t)words * sizeof(uint64_t);
    *out = code;
    return true;
}

bool hotspot_find(struct hotspot *hotspot, uint64_t pc, struct hotspot_code *out)
{
    const struct hotspot_heap *heap = NULL;
    uint64_t block;
    uint8_t used;
    struct hotspot_code code;
    for (size_t i = 0; heap == NULL && i < hotspot->heap_count; i++)
        if (pc >= hotspot->heaps[i].low && pc < hotspot->heaps[i].high)
            heap = &hotspot->heaps[i];
    if (heap == NULL)
        return false;
    if (pc != hotspot->found_pc) {
        if (!find_hotspot_block(hotspot, heap, pc, &block) ||
            memory_read(hotspot->reader,
                        block + hotspot->layout.word[HOTSPOT_BLOCK_USED], &used,
                        1) != CH_OK ||
            used == 0 ||
            !read_blob(hotspot, block + hotspot->layout.word[HOTSPOT_BLOCK_SIZE],
                       &code) ||
            pc < code.begin || pc > code.end)
            return false;
        hotspot->found = code;
        hotspot->found_pc = pc;
    }
    *out = hotspot->found;
    return true;
}

static void set_caller(const struct hotspot *hotspot, struct unwind_state *state,
                       const uint64_t caller[static 3])
{
    state->known = 0;
    unwind_state_set(state, hotspot->arch->pc, caller[0]);
    unwind_state_set(state, hotspot->arch->sp, caller[1]);
    unwind_state_set(state, hotspot->arch->fp, caller[2]);
}

// leave_interpreter leaves a frame of the interpreter, which has a frame record. The
// caller's stack may have grown for the arguments; the frame notes where it was.
static enum ch_status leave_interpreter(const struct hotspot *hotspot,
                                        struct unwind_state *state)
{
    enum { SENDER_BYTES_MAX = 1 << 20 };
    uint64_t fp = state->registers.value[hotspot->arch->fp];
    uint64_t caller[3];
    uint64_t sender;
    if (!unwind_state_knows(state, hotspot->arch->fp) ||
        fp < state->registers.value[hotspot->arch->sp])
        return CH_ERR_NOT_FOUND;
    if (memory_read_word(hotspot->reader, fp + 8, &caller[0]) != CH_OK ||
        memory_read_word(hotspot->reader, fp, &caller[2]) != CH_OK ||
        memory_read_word(hotspot->reader, fp + (uint64_t)FRAME_SENDER, &sender) !=
            CH_OK)
        return CH_ERR_FAULT;
    caller[1] = fp + 16;
    if (sender > caller[1] && sender - caller[1] < SENDER_BYTES_MAX && sender % 8 == 0)
        caller[1] = sender;
    set_caller(hotspot, state, caller);
    return CH_OK;
}

// leave_compiled leaves a frame whose size is known: the return address is its last
// word, and the caller's frame pointer the one before.
static enum ch_status leave_compiled(const struct hotspot *hotspot,
                                     const struct hotspot_code *code, bool complete,
                                     struct unwind_state *state)
{
    uint64_t sp = state->registers.value[hotspot->arch->sp];
    uint64_t caller[3] = { 0, sp + 8, state->registers.value[hotspot->arch->fp] };
    if (complete)
        caller[1] = sp + code->frame_bytes;
    if (memory_read_word(hotspot->reader, caller[1] - 8, &caller[0]) != CH_OK ||
        (complete &&
         memory_read_word(hotspot->reader, caller[1] - 16, &caller[2]) != CH_OK))
        return CH_ERR_FAULT;
    set_caller(hotspot, state, caller);
    return CH_OK;
}

enum ch_status hotspot_step(void *context, const struct unwind_frame *frame,
                            struct unwind_state *state)
{
    struct hotspot *hotspot = context;
    struct hotspot_code code;
    uint64_t pc = state->registers.value[hotspot->arch->pc];
    if (!hotspot_find(hotspot, pc, &code))
        return CH_ERR_NOT_FOUND;
    if (code.kind == HOTSPOT_INTERPRETER)
        return leave_interpreter(hotspot, state);
    bool interrupted = frame->kind == UNWIND_KIND_PC;
    if (code.frame_bytes == 0 || (interrupted && code.complete < 0))
        return CH_ERR_NOT_FOUND;
    bool complete =
        !interrupted || (int64_t)(pc - code.begin) >= (int64_t)code.complete;
    return leave_compiled(hotspot, &code, complete, state);
}

// collect_interpreted adds the method of a frame of the interpreter.
static bool collect_interpreted(struct hotspot *hotspot,
                                const struct unwind_frame *frame,
                                const struct unwind_state *state,
                                struct interpreted *table)
{
    uint64_t fp = state->registers.value[hotspot->arch->fp];
    uint64_t method;
    uint64_t bytecode;
    if (!unwind_state_knows(state, hotspot->arch->fp) ||
        memory_read_word(hotspot->reader, fp + (uint64_t)FRAME_METHOD, &method) !=
            CH_OK ||
        memory_read_word(hotspot->reader, fp + (uint64_t)FRAME_BYTECODE, &bytecode) !=
            CH_OK ||
        !hotspot_is_method(hotspot, method))
        return false;
    struct interpreted_frame one = { .code = method };
    // It keeps the bytecode in a register until it calls something.
    one.offset = INTERPRETED_NO_OFFSET;
    if (frame->kind == UNWIND_KIND_PC)
        one.offset = hotspot_bytecode(hotspot, method,
                                      state->registers.value[BYTECODE_REGISTER]);
    if (one.offset == INTERPRETED_NO_OFFSET)
        one.offset = hotspot_bytecode(hotspot, method, bytecode);
    return interpreted_add(table, one) == CH_OK;
}

uint32_t hotspot_collect(struct hotspot *hotspot, const struct unwind_frame *frame,
                         const struct unwind_state *state, struct interpreted *table)
{
    struct hotspot_code code;
    size_t first = table->frame_count;
    bool named = false;
    if (!hotspot_find(hotspot, frame->address, &code) || !hotspot_may_go_on(hotspot))
        return INTERPRETED_NONE;
    if (code.kind == HOTSPOT_INTERPRETER)
        named = collect_interpreted(hotspot, frame, state, table);
    if (code.kind == HOTSPOT_COMPILED)
        named = hotspot_collect_compiled(hotspot, &code, frame, state, table);
    const struct interpreted_frame stub = { .code = code.name,
                                            .offset = INTERPRETED_NO_OFFSET };
    if (!named && interpreted_add(table, stub) != CH_OK)
        return INTERPRETED_NONE;
    return interpreted_end_group(table, first,
                                 named ? INTERPRETED_JAVA : INTERPRETED_RUNTIME);
}
