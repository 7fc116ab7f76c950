// SPDX-License-Identifier: Apache-2.0
//
// How it works: python_open finds the image of an interpreter (is_candidate) and its
// layout: from 3.13 on from _Py_DebugOffsets, before that from a table by version.
// python_collect goes through the lists of interpreters and threads and adds the frames
// of each thread as a run of the table (interpreted.h); the walk of the native stack
// puts them in their places.
//
// How frames are found depends on the version (layout.chain):
// - calls (3.8, 3.9): each frame is a call of the interpreter's function, in order.
// - records (3.10): each frame has a record on the C stack, too.
// - entries (3.11): a record has several frames, of which the last says that it is.
// - shims (3.12 on): frames on the C stack separate the calls of the interpreter.
//
// Limits: python_may_go_on counts frames of all threads, each list has a limit of its
// own, and deadline_us bounds the time. python_give_up notes the problem for the report
// and ends the collection; what was found stays.
#include "languages/python.h"

#include <stddef.h>
#include <string.h>
#include <time.h>

#include "base/clock.h"
#include "images/image_symbol.h"

// What all versions of a table's row have in common. The header of a text lost three
// words in 3.12: a pointer to wide characters and its length.
#define PYTHON_COMMON                                                                  \
    .code_file = 112, .code_name = 128, .code_lines = 136, .object_type = 8,           \
    .bytes_size = 16, .bytes_data = 32, .tuple_items = 24, .text_length = 16,          \
    .text_state = 32

#define PYTHON_OLD_CODE                                                                \
    .code_first_line = 40, .code_file = 104, .code_name = 112, .code_lines = 120,      \
    .object_type = 8, .bytes_size = 16, .bytes_data = 32, .tuple_items = 24,           \
    .text_length = 16, .text_state = 32, .text_ascii = 48, .text_compact = 72

#define PYTHON_OLD_THREAD                                                              \
    .runtime_interpreters = 32, .interpreter_threads = 8, .thread_next = 8,            \
    .thread_frame = 24, .thread_id = 176, .thread_raised = 96,                         \
    .raised_has_type = true, .thread_handled = 144, .handled_value = 8,                \
    .frame_code = 32, .frame_previous = 24

static const struct python_layout python_layouts[] = {
    { .version = 0x0308,
      .chain = PYTHON_CHAIN_CALLS,
      .lines = PYTHON_LINES_LNOTAB,
      PYTHON_OLD_THREAD,
      PYTHON_OLD_CODE,
      .frame_instruction = 104 },
    { .version = 0x0309,
      .chain = PYTHON_CHAIN_CALLS,
      .lines = PYTHON_LINES_LNOTAB,
      PYTHON_OLD_THREAD,
      PYTHON_OLD_CODE,
      .frame_instruction = 104 },
    { .version = 0x030a,
      .chain = PYTHON_CHAIN_RECORDS,
      .lines = PYTHON_LINES_310,
      PYTHON_OLD_THREAD,
      PYTHON_OLD_CODE,
      .thread_record = 48,
      .record_previous = 8,
      .frame_instruction = 96 },
    { .version = 0x030b,
      .chain = PYTHON_CHAIN_ENTRIES,
      .lines = PYTHON_LINES_311,
      PYTHON_COMMON,
      .runtime_interpreters = 40,
      .interpreter_threads = 16,
      .thread_next = 8,
      .thread_record = 56,
      .thread_id = 152,
      .thread_raised = 104,
      .raised_has_type = true,
      .thread_handled = 120,
      .record_frame = 8,
      .record_previous = 16,
      .frame_code = 32,
      .frame_previous = 48,
      .frame_instruction = 56,
      .frame_entry = 68,
      .frame_owner = 69,
      .code_first_line = 72,
      .code_bytes = 184,
      .text_ascii = 48,
      .text_compact = 72 },
    { .version = 0x030c,
      .chain = PYTHON_CHAIN_SHIMS,
      .lines = PYTHON_LINES_311,
      PYTHON_COMMON,
      .code_first_line = 68,
      .runtime_interpreters = 40,
      .interpreter_threads = 72,
      .thread_next = 8,
      .thread_record = 56,
      .thread_id = 136,
      .thread_raised = 96,
      .thread_handled = 104,
      .frame_previous = 8,
      .frame_instruction = 56,
      .frame_owner = 70,
      .code_bytes = 192,
      .text_ascii = 40,
      .text_compact = 56 },
};

const struct python_layout *python_layout_of_version(uint32_t version)
{
    for (size_t i = 0; i < sizeof(python_layouts) / sizeof(python_layouts[0]); i++)
        if (python_layouts[i].version == version)
            return &python_layouts[i];
    return NULL;
}

// python_word is a word of _Py_DebugOffsets that is read.
enum python_word {
    WORD_INTERPRETERS,
    WORD_INTERPRETER_NEXT,
    WORD_INTERPRETER_THREADS,
    WORD_THREAD_NEXT,
    WORD_THREAD_FRAME,
    WORD_THREAD_ID,
    WORD_FRAME_PREVIOUS,
    WORD_FRAME_CODE,
    WORD_FRAME_INSTRUCTION,
    WORD_FRAME_OWNER,
    WORD_CODE_FILE,
    WORD_CODE_NAME,
    WORD_CODE_LINES,
    WORD_CODE_FIRST_LINE,
    WORD_CODE_BYTES,
    WORD_OBJECT_TYPE,
    WORD_BYTES_SIZE,
    WORD_BYTES_DATA,
    WORD_TUPLE_ITEMS,
    WORD_TEXT_STATE,
    WORD_TEXT_LENGTH,
    WORD_TEXT_ASCII,
    WORDS
};

enum { OFFSET_WORDS = 81, WORD_VERSION = 1, WORD_FREE_THREADED = 2 };

// An offset_table is a version whose runtime describes itself: the number of each word,
// counted from the cookie. A thread's exceptions are not among them: their offsets are
// those of the headers, of builds with a lock.
struct offset_table {
    uint32_t version;
    uint8_t word[WORDS];
    uint16_t raised;
    uint16_t handled;
};

static const struct offset_table offset_tables[] = {
    { 0x030d,
      { 5,  8,  9,  21, 23, 24, 29, 30, 31, 33, 35,
        37, 38, 39, 43, 45, 65, 66, 51, 68, 69, 70 },
      112,
      120 },
    { 0x030e,
      { 5,  8,  9,  24, 26, 27, 32, 33, 34, 36, 40,
        42, 43, 44, 48, 51, 75, 76, 57, 78, 79, 80 },
      112,
      120 },
};

// where_words_go pairs each word with its member, and returns which are in large
// states.
static const struct {
    size_t member;
    uint64_t limit;
} where_words_go[WORDS] = {
#define TO(name, most)                                                                 \
    {                                                                                  \
        offsetof(struct python_layout, name), most                                     \
    }
    [WORD_INTERPRETERS] = TO(runtime_interpreters, PYTHON_STATE_OFFSET_MAX),
    [WORD_INTERPRETER_NEXT] = TO(interpreter_next, PYTHON_STATE_OFFSET_MAX),
    [WORD_INTERPRETER_THREADS] = TO(interpreter_threads, PYTHON_STATE_OFFSET_MAX),
    [WORD_THREAD_NEXT] = TO(thread_next, PYTHON_OFFSET_MAX),
    [WORD_THREAD_FRAME] = TO(thread_frame, PYTHON_OFFSET_MAX),
    [WORD_THREAD_ID] = TO(thread_id, PYTHON_OFFSET_MAX),
    [WORD_FRAME_PREVIOUS] = TO(frame_previous, PYTHON_OFFSET_MAX),
    [WORD_FRAME_CODE] = TO(frame_code, PYTHON_OFFSET_MAX),
    [WORD_FRAME_INSTRUCTION] = TO(frame_instruction, PYTHON_OFFSET_MAX),
    [WORD_FRAME_OWNER] = TO(frame_owner, PYTHON_OFFSET_MAX),
    [WORD_CODE_FILE] = TO(code_file, PYTHON_OFFSET_MAX),
    [WORD_CODE_NAME] = TO(code_name, PYTHON_OFFSET_MAX),
    [WORD_CODE_LINES] = TO(code_lines, PYTHON_OFFSET_MAX),
    [WORD_CODE_FIRST_LINE] = TO(code_first_line, PYTHON_OFFSET_MAX),
    [WORD_CODE_BYTES] = TO(code_bytes, PYTHON_OFFSET_MAX),
    [WORD_OBJECT_TYPE] = TO(object_type, PYTHON_OFFSET_MAX),
    [WORD_BYTES_SIZE] = TO(bytes_size, PYTHON_OFFSET_MAX),
    [WORD_BYTES_DATA] = TO(bytes_data, PYTHON_OFFSET_MAX),
    [WORD_TUPLE_ITEMS] = TO(tuple_items, PYTHON_OFFSET_MAX),
    [WORD_TEXT_STATE] = TO(text_state, PYTHON_OFFSET_MAX),
    [WORD_TEXT_LENGTH] = TO(text_length, PYTHON_OFFSET_MAX),
    [WORD_TEXT_ASCII] = TO(text_ascii, PYTHON_OFFSET_MAX),
#undef TO
};

static const struct offset_table *find_offset_table(uint64_t hexversion)
{
    for (size_t i = 0; i < sizeof(offset_tables) / sizeof(offset_tables[0]); i++)
        if (offset_tables[i].version == hexversion >> 16)
            return &offset_tables[i];
    return NULL;
}

enum ch_status python_layout_read(const struct memory_reader *reader, uint64_t address,
                                  struct python_layout *out)
{
    uint64_t words[OFFSET_WORDS];
    enum ch_status status = memory_read(reader, address, words, sizeof(words));
    if (status != CH_OK)
        return status;
    if (memcmp(words, "xdebugpy", sizeof(words[0])) != 0)
        return CH_ERR_UNSUPPORTED;
    const struct offset_table *table = find_offset_table(words[WORD_VERSION]);
    if (table == NULL)
        return CH_ERR_UNSUPPORTED;
    struct python_layout layout = { .version = table->version,
                                    .chain = PYTHON_CHAIN_SHIMS,
                                    .lines = PYTHON_LINES_311,
                                    .free_threaded = words[WORD_FREE_THREADED] != 0 };
    for (size_t i = 0; i < WORDS; i++) {
        uint64_t value = words[table->word[i]];
        if (value > where_words_go[i].limit)
            return CH_ERR_MALFORMED;
        memcpy((char *)&layout + where_words_go[i].member, &value, sizeof(value));
    }
    layout.text_compact = layout.text_ascii + 2 * sizeof(uint64_t);
    if (!layout.free_threaded) {
        layout.thread_raised = table->raised;
        layout.thread_handled = table->handled;
    }
    *out = layout;
    return CH_OK;
}

enum { PYTHON_CLOCK_FRAMES = 64, PYTHON_TAG_BITS = 3 };

// version_before_offsets derives the version of a program that does not state it: 3.11
// and 3.12 export their number, older ones are known by functions that were new in
// them.
static uint32_t version_before_offsets(const struct python *python,
                                       const struct target_image *image)
{
    static const struct {
        const char *symbol;
        uint32_t version;
    } since[] = {
        { "PyIter_Send", 0x030a },
        { "PyObject_CallNoArgs", 0x0309 },
        { "PyVectorcall_Call", 0x0308 },
    };
    uint64_t at;
    uint64_t version;
    if (image_symbol_find(python->reader, image, "Py_Version", &at) == CH_OK)
        return memory_read_word(python->reader, at, &version) == CH_OK &&
                       version >> 32 == 0
                   ? (uint32_t)version >> 16
                   : 0;
    for (size_t i = 0; i < sizeof(since) / sizeof(since[0]); i++)
        if (image_symbol_find(python->reader, image, since[i].symbol, &at) == CH_OK)
            return since[i].version;
    return 0;
}

static enum ch_status python_open_image(struct python *python,
                                        const struct target_image *image)
{
    enum ch_status status =
        image_symbol_find(python->reader, image, "_PyRuntime", &python->runtime);
    if (status == CH_OK)
        status =
            image_symbol_find(python->reader, image, "PyCode_Type", &python->code_type);
    if (status != CH_OK)
        return CH_ERR_NOT_FOUND;
    status = python_layout_read(python->reader, python->runtime, &python->layout);
    if (status == CH_OK)
        return CH_OK;
    const struct python_layout *layout =
        python_layout_of_version(version_before_offsets(python, image));
    if (layout == NULL)
        return CH_ERR_UNSUPPORTED;
    python->layout = *layout;
    if (layout->chain == PYTHON_CHAIN_CALLS &&
        image_symbol_find_range(python->reader, image, "_PyEval_EvalFrameDefault",
                                &python->eval, &python->eval_size) != CH_OK)
        return CH_ERR_UNSUPPORTED;
    return CH_OK;
}

const char *python_lacks(const struct python *python)
{
    return python->layout.free_threaded
               ? "a build without the global lock: no exception, and not every line"
               : NULL;
}

bool python_counts_calls(const struct python *python)
{
    return python->layout.chain == PYTHON_CHAIN_CALLS;
}

bool python_is_call(const struct python *python, uint64_t address)
{
    return address - python->eval < python->eval_size;
}

static bool path_says_python(const char *path, size_t size)
{
    return memmem(path, size, "python", 6) != NULL;
}

// is_candidate: an interpreter is in a file of that name. Where only a folder of the
// path has the name, the program contains the interpreter, and its modules are in that
// folder.
static bool is_candidate(const struct target_image *image, bool programs)
{
    const char *slash = memrchr(image->path, '/', image->path_size);
    const char *name = slash != NULL ? slash + 1 : image->path;
    size_t size = image->path_size - (size_t)(name - image->path);
    return programs ? memmem(name, size, ".so", 3) == NULL
                    : path_says_python(name, size);
}

static enum ch_status python_open_any(struct python *python,
                                      const struct target_images *images, bool programs)
{
    for (size_t i = 0; i < images->count; i++) {
        if (!is_candidate(&images->images[i], programs))
            continue;
        enum ch_status status = python_open_image(python, &images->images[i]);
        if (status != CH_ERR_NOT_FOUND)
            return status;
    }
    return CH_ERR_NOT_FOUND;
}

enum ch_status python_open(struct python *python, const struct memory_reader *reader,
                           const struct target_images *images)
{
    bool mentioned = false;
    *python = (struct python){ .reader = reader };
    if (reader->big_endian || reader->narrow)
        return CH_ERR_NOT_FOUND;
    for (size_t i = 0; i < images->count && !mentioned; i++)
        mentioned =
            path_says_python(images->images[i].path, images->images[i].path_size);
    if (!mentioned)
        return CH_ERR_NOT_FOUND;
    enum ch_status status = python_open_any(python, images, false);
    if (status == CH_ERR_NOT_FOUND)
        status = python_open_any(python, images, true);
    if (status != CH_OK)
        python->runtime = 0;
    return status;
}

// python_word reads a word of an object; false: it cannot be read.
static bool python_word(const struct python *python, uint64_t object, uint64_t offset,
                        uint64_t *out)
{
    return memory_read_word(python->reader, object + offset, out) == CH_OK;
}

static bool python_is_code(struct python *python, uint64_t object)
{
    uint64_t type;
    uint64_t *known = &python->known[(object * UINT64_C(0x9e3779b97f4a7c15)) >> 58];
    if (object == 0 || object % 8 != 0)
        return false;
    if (*known == object)
        return true;
    if (!python_word(python, object, python->layout.object_type, &type) ||
        type != python->code_type)
        return false;
    *known = object;
    return true;
}

static bool python_give_up(struct python *python, const char *problem)
{
    if (python->problem == NULL)
        python->problem = problem;
    return false;
}

// python_may_go_on counts a frame against the limits of all threads.
static bool python_may_go_on(struct python *python)
{
    if (++python->frames > PYTHON_FRAMES)
        return python_give_up(python, "too many frames");
    if (python->frames % PYTHON_CLOCK_FRAMES == 0 &&
        clock_now_us(CLOCK_MONOTONIC) > python->deadline_us)
        return python_give_up(python, "no time for all frames");
    return true;
}

// python_offset is how far a frame was executed. Outside of its code it is not known:
// builds without a lock have copies of code for each thread.
static int32_t python_offset(const struct python *python, uint64_t code,
                             uint64_t instruction)
{
    const struct python_layout *layout = &python->layout;
    if (layout->chain == PYTHON_CHAIN_CALLS)
        return (int32_t)(uint32_t)instruction;
    if (layout->chain == PYTHON_CHAIN_RECORDS)
        return (int32_t)(2 * (uint32_t)instruction);
    // The instruction before the first one is where a call begins.
    int64_t offset = (int64_t)(instruction - code - layout->code_bytes);
    return offset >= -2 && offset <= INT32_MAX ? (int32_t)offset
                                               : INTERPRETED_NO_OFFSET;
}

// python_take_frame adds a frame to the run and gives the next one. False: the chain
// ends here, or is broken.
static bool python_take_frame(struct python *python, struct interpreted *table,
                              uint64_t *frame)
{
    const struct python_layout *layout = &python->layout;
    uint64_t code;
    uint64_t previous;
    uint64_t instruction;
    if (!python_may_go_on(python))
        return false;
    if (!python_word(python, *frame, layout->frame_code, &code) ||
        !python_word(python, *frame, layout->frame_previous, &previous) ||
        !python_word(python, *frame, layout->frame_instruction, &instruction))
        return python_give_up(python, "a frame cannot be read");
    code &= ~(uint64_t)PYTHON_TAG_BITS;
    if (!python_is_code(python, code))
        return python_give_up(python, "a frame has no code");
    const struct interpreted_frame one = {
        .code = code, .offset = python_offset(python, code, instruction)
    };
    if (interpreted_add(table, one) != CH_OK)
        return python_give_up(python, "no memory for all frames");
    *frame = previous;
    return true;
}

static void python_end_run(struct python *python, struct interpreted *table,
                           uint64_t stack, uint64_t thread)
{
    if (interpreted_end_run(table, stack, thread) != CH_OK)
        (void)python_give_up(python, "no memory for all frames");
}

// collect_calls: every frame is a call of the interpreter, in the order of the stack.
static void collect_calls(struct python *python, struct interpreted *table,
                          uint64_t thread)
{
    uint64_t frame;
    uint64_t id;
    if (!python_word(python, thread, python->layout.thread_frame, &frame) ||
        !python_word(python, thread, python->layout.thread_id, &id))
        return;
    while (frame != 0 && python_take_frame(python, table, &frame))
        python_end_run(python, table, id, thread);
}

// collect_records: every frame has a record on the C stack.
static void collect_records(struct python *python, struct interpreted *table,
                            uint64_t thread)
{
    const struct python_layout *layout = &python->layout;
    uint64_t frame;
    uint64_t record;
    if (!python_word(python, thread, layout->thread_frame, &frame) ||
        !python_word(python, thread, layout->thread_record, &record))
        return;
    while (frame != 0 && record != 0 && python_take_frame(python, table, &frame)) {
        python_end_run(python, table, record, thread);
        if (!python_word(python, record, layout->record_previous, &record))
            return;
    }
}

// take_entry takes the frames of one record, of which the last says that it is. False:
// they are incomplete.
static bool take_entry(struct python *python, struct interpreted *table, uint64_t frame)
{
    uint8_t last = 0;
    while (frame != 0 && last == 0) {
        if (memory_read(python->reader, frame + python->layout.frame_entry, &last, 1) !=
                CH_OK ||
            !python_take_frame(python, table, &frame))
            return false;
    }
    return true;
}

static void collect_entries(struct python *python, struct interpreted *table,
                            uint64_t thread)
{
    const struct python_layout *layout = &python->layout;
    uint64_t record;
    uint64_t frame;
    bool whole = python_word(python, thread, layout->thread_record, &record);
    while (whole && record != 0 && python_may_go_on(python) &&
           python_word(python, record, layout->record_frame, &frame)) {
        whole = take_entry(python, table, frame);
        python_end_run(python, table, record, thread);
        whole = whole && python_word(python, record, layout->record_previous, &record);
    }
}

// collect_shims: between the frames are others, on the C stack, for the calls of the
// interpreter that ran the frames before them.
static void collect_shims(struct python *python, struct interpreted *table,
                          uint64_t thread)
{
    const struct python_layout *layout = &python->layout;
    uint64_t from = thread;
    uint64_t frame;
    bool whole = layout->thread_record == 0 ||
                 python_word(python, thread, layout->thread_record, &from);
    uint64_t offset =
        layout->thread_record == 0 ? layout->thread_frame : layout->record_frame;
    whole = whole && from != 0 && python_word(python, from, offset, &frame);
    while (whole && frame != 0) {
        uint8_t owner;
        if (memory_read(python->reader, frame + layout->frame_owner, &owner, 1) !=
            CH_OK) {
            (void)python_give_up(python, "a frame cannot be read");
            return;
        }
        if (owner < PYTHON_OWNER_STACK) {
            whole = python_take_frame(python, table, &frame);
            continue;
        }
        python_end_run(python, table, frame, thread);
        whole = python_may_go_on(python) &&
                python_word(python, frame, layout->frame_previous, &frame);
    }
}

static void collect_thread(struct python *python, struct interpreted *table,
                           uint64_t thread)
{
    switch (python->layout.chain) {
    case PYTHON_CHAIN_CALLS:
        collect_calls(python, table, thread);
        break;
    case PYTHON_CHAIN_RECORDS:
        collect_records(python, table, thread);
        break;
    case PYTHON_CHAIN_ENTRIES:
        collect_entries(python, table, thread);
        break;
    case PYTHON_CHAIN_SHIMS:
        collect_shims(python, table, thread);
        break;
    }
    interpreted_drop_run(table);
}

static void collect_interpreter(struct python *python, struct interpreted *table,
                                uint64_t interpreter)
{
    const struct python_layout *layout = &python->layout;
    uint64_t thread;
    if (!python_word(python, interpreter, layout->interpreter_threads, &thread))
        return;
    for (size_t i = 0; thread != 0 && python_may_go_on(python); i++) {
        if (i == PYTHON_THREADS) {
            (void)python_give_up(python, "too many threads");
            return;
        }
        collect_thread(python, table, thread);
        if (!python_word(python, thread, layout->thread_next, &thread))
            return;
    }
}

enum ch_status python_collect(struct python *python, struct interpreted *table)
{
    const struct python_layout *layout = &python->layout;
    uint64_t interpreter;
    python->deadline_us = clock_now_us(CLOCK_MONOTONIC) + PYTHON_TIME_US;
    if (!python_word(python, python->runtime, layout->runtime_interpreters,
                     &interpreter))
        return CH_ERR_FAULT;
    for (size_t i = 0; interpreter != 0 && i < PYTHON_INTERPRETERS; i++) {
        collect_interpreter(python, table, interpreter);
        if (!python_word(python, interpreter, layout->interpreter_next, &interpreter))
            break;
    }
    interpreted_sort(table);
    return CH_OK;
}
