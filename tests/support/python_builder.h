// SPDX-License-Identifier: Apache-2.0
//
// The memory of a process with one thread of Python that runs `inner`, called by
// `outer`, as each version keeps it.
#pragma once
#include <stdint.h>
#include <string.h>

#include "languages/python.h"

enum {
    PYTHON_MEMORY = 0x100000, // its address
    PYTHON_MEMORY_BYTES = 16384,
    PYTHON_AT_RUNTIME = 0x0,
    PYTHON_AT_INTERPRETER = 0x400,
    PYTHON_AT_THREAD = 0x800,
    PYTHON_AT_INNER = 0xc00, // frames
    PYTHON_AT_OUTER = 0xd00,
    PYTHON_AT_SHIM = 0xe00, // on the C stack, as are records
    PYTHON_AT_RECORD = 0xf00,
    PYTHON_AT_ROOT = 0xf80,
    PYTHON_AT_CODE_TYPE = 0x1000,
    PYTHON_AT_CODE = 0x1100, // of inner; that of outer is 0x400 further
    PYTHON_AT_TEXTS = 0x2000,
    PYTHON_CODE_BYTES = 0x400,
};

static inline void python_put(uint8_t *memory, uint64_t at, uint64_t value, size_t size)
{
    memcpy(memory + at, &value, size);
}

// python_put_address writes the address of what is at `to`.
static inline void python_put_address(uint8_t *memory, uint64_t at, uint64_t to)
{
    python_put(memory, at, PYTHON_MEMORY + to, 8);
}

static inline void python_put_text(uint8_t *memory, const struct python_layout *layout,
                                   uint64_t at, const char *text)
{
    python_put(memory, at + layout->text_length, strlen(text), 8);
    python_put(memory, at + layout->text_state, 1 << 2 | 1 << 5 | 1 << 6, 4);
    memcpy(memory + at + layout->text_ascii, text, strlen(text));
}

static inline void python_put_code(uint8_t *memory, const struct python_layout *layout,
                                   uint64_t at, const char *name)
{
    static const uint8_t lines[][4] = {
        [PYTHON_LINES_LNOTAB] = { 2, 5, 2, 1 },
        [PYTHON_LINES_310] = { 2, 0, 2, 5 },
        [PYTHON_LINES_311] = { 0x80 | 10 << 3, 0, 0x80 | 13 << 3, 10 },
    };
    uint64_t texts = at - PYTHON_AT_CODE + PYTHON_AT_TEXTS;
    python_put_address(memory, at + layout->object_type, PYTHON_AT_CODE_TYPE);
    python_put(memory, at + layout->code_first_line, 30, 4);
    python_put_address(memory, at + layout->code_name, texts);
    python_put_address(memory, at + layout->code_file, texts + 0x100);
    python_put_address(memory, at + layout->code_lines, texts + 0x200);
    python_put_text(memory, layout, texts, name);
    python_put_text(memory, layout, texts + 0x100, "/srv/shop.py");
    python_put(memory, texts + 0x200 + layout->bytes_size, sizeof(lines[0]), 8);
    memcpy(memory + texts + 0x200 + layout->bytes_data, lines[layout->lines],
           sizeof(lines[0]));
}

static inline void python_put_frame(uint8_t *memory, const struct python_layout *layout,
                                    uint64_t at, uint64_t code, uint64_t previous)
{
    uint64_t instruction = PYTHON_MEMORY + code + layout->code_bytes + 2;
    if (layout->chain == PYTHON_CHAIN_CALLS)
        instruction = 2;
    if (layout->chain == PYTHON_CHAIN_RECORDS)
        instruction = 1;
    python_put_address(memory, at + layout->frame_code, code);
    if (previous != 0)
        python_put_address(memory, at + layout->frame_previous, previous);
    bool address = layout->code_bytes != 0;
    python_put(memory, at + layout->frame_instruction, instruction, address ? 8 : 4);
    if (layout->frame_entry != 0)
        python_put(memory, at + layout->frame_entry, previous == 0, 1);
}

// python_build fills memory for a layout.
static inline void python_build(const struct python_layout *layout, uint8_t *memory)
{
    bool shims = layout->chain == PYTHON_CHAIN_SHIMS;
    uint64_t outer_code = PYTHON_AT_CODE + PYTHON_CODE_BYTES;
    memset(memory, 0, PYTHON_MEMORY_BYTES);
    python_put_address(memory, PYTHON_AT_RUNTIME + layout->runtime_interpreters,
                       PYTHON_AT_INTERPRETER);
    python_put_address(memory, PYTHON_AT_INTERPRETER + layout->interpreter_threads,
                       PYTHON_AT_THREAD);
    if (layout->thread_frame != 0)
        python_put_address(memory, PYTHON_AT_THREAD + layout->thread_frame,
                           PYTHON_AT_INNER);
    if (layout->thread_record != 0)
        python_put_address(memory, PYTHON_AT_THREAD + layout->thread_record,
                           PYTHON_AT_RECORD);
    python_put_address(memory, PYTHON_AT_RECORD + layout->record_previous,
                       PYTHON_AT_ROOT);
    if (layout->chain >= PYTHON_CHAIN_ENTRIES && layout->thread_record != 0)
        python_put_address(memory, PYTHON_AT_RECORD + layout->record_frame,
                           PYTHON_AT_INNER);
    python_put(memory, PYTHON_AT_THREAD + layout->thread_id, 0x7700, 8);
    python_put_code(memory, layout, PYTHON_AT_CODE, "inner");
    python_put_code(memory, layout, outer_code, "outer");
    python_put_frame(memory, layout, PYTHON_AT_INNER, PYTHON_AT_CODE, PYTHON_AT_OUTER);
    python_put_frame(memory, layout, PYTHON_AT_OUTER, outer_code,
                     shims ? PYTHON_AT_SHIM : 0);
    if (shims)
        python_put(memory, PYTHON_AT_SHIM + layout->frame_owner, 3, 1);
}

// python_of is the interpreter in that memory.
static inline struct python python_of(const struct python_layout *layout,
                                      const struct memory_reader *reader)
{
    return (struct python){ .reader = reader,
                            .layout = *layout,
                            .runtime = PYTHON_MEMORY + PYTHON_AT_RUNTIME,
                            .code_type = PYTHON_MEMORY + PYTHON_AT_CODE_TYPE };
}
