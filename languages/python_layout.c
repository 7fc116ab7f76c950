// SPDX-License-Identifier: Apache-2.0
#include "languages/python_layout.h"

#include <stddef.h>
#include <string.h>

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

// where_words_go pairs each word with its member, and says which are in large states.
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
