// SPDX-License-Identifier: Apache-2.0
//
// The memory of a process with a virtual machine of Java: its description of itself, a
// heap of code with the interpreter, a stub and a compiled method with another inlined
// into it, and a stack. It is of version 17, or its code of version 25.
#pragma once
#include <stdint.h>
#include <string.h>

#include "languages/hotspot.h"

enum {
    HOTSPOT_MEMORY = 0x200000, // its address
    HOTSPOT_MEMORY_BYTES = 0x6000,
    HOTSPOT_AT_VERSION = 0x8,
    HOTSPOT_AT_HEAPS = 0x10, // the static pointer to the list
    HOTSPOT_AT_LIST = 0x20,
    HOTSPOT_AT_HEAP_POINTERS = 0x40,
    HOTSPOT_AT_HEAP = 0x80,
    HOTSPOT_AT_MAP = 0x200,
    HOTSPOT_AT_NAMES = 0x300,
    HOTSPOT_AT_CLASS = 0x400,
    HOTSPOT_AT_POOL = 0x500,
    HOTSPOT_AT_METHOD = 0x600, // total; that of price is 0x200 further
    HOTSPOT_AT_PRICE = 0x800,
    HOTSPOT_AT_SYMBOLS = 0xa00,
    HOTSPOT_AT_CODE = 0x1000, // blocks of 0x1000 bytes
    HOTSPOT_AT_INTERPRETER = HOTSPOT_AT_CODE,
    HOTSPOT_AT_STUB = HOTSPOT_AT_CODE + 0x1000,
    HOTSPOT_AT_COMPILED = HOTSPOT_AT_CODE + 0x2000,
    HOTSPOT_AT_STACK = 0x5000,
    HOTSPOT_CODE_OFFSET = 0x800, // of the code in a block
    HOTSPOT_SHIFT = 7,
    HOTSPOT_FRAME_WORDS = 8, // of the compiled method
};

static inline struct hotspot_layout hotspot_layout_17(void)
{
    struct hotspot_layout layout = { .version = 17 };
    const struct {
        enum hotspot_word word;
        uint64_t value;
    } words[] = {
        { HOTSPOT_VERSION, HOTSPOT_MEMORY + HOTSPOT_AT_VERSION },
        { HOTSPOT_HEAPS, HOTSPOT_MEMORY + HOTSPOT_AT_HEAPS },
        { HOTSPOT_ARRAY_LENGTH, 0 },
        { HOTSPOT_ARRAY_DATA, 8 },
        { HOTSPOT_HEAP_MEMORY, 8 },
        { HOTSPOT_HEAP_MAP, 120 },
        { HOTSPOT_HEAP_SHIFT, 256 },
        { HOTSPOT_SPACE_LOW, 16 },
        { HOTSPOT_SPACE_HIGH, 24 },
        { HOTSPOT_BLOCK_USED, 8 },
        { HOTSPOT_BLOCK_SIZE, 16 },
        { HOTSPOT_BLOB_NAME, 96 },
        { HOTSPOT_BLOB_COMPLETE, 20 },
        { HOTSPOT_BLOB_FRAME, 28 },
        { HOTSPOT_BLOB_CODE, 32 },
        { HOTSPOT_BLOB_CODE_END, 40 },
        { HOTSPOT_COMPILED_METHOD, 112 },
        { HOTSPOT_COMPILED_SCOPES, 120 },
        { HOTSPOT_COMPILED_DEOPT, 128 },
        { HOTSPOT_COMPILED_ORIGINAL_PC, 300 },
        { HOTSPOT_COMPILED_METADATA, 260 },
        { HOTSPOT_COMPILED_PCS, 268 },
        { HOTSPOT_COMPILED_PCS_END, 272 },
        { HOTSPOT_PC_OFFSET, 0 },
        { HOTSPOT_PC_SCOPE, 4 },
        { HOTSPOT_PC_SIZE, 16 },
        { HOTSPOT_METHOD_CONST, 8 },
        { HOTSPOT_CONST_POOL, 8 },
        { HOTSPOT_CONST_FLAGS, 28 },
        { HOTSPOT_CONST_WORDS, 24 },
        { HOTSPOT_CONST_CODE_SIZE, 32 },
        { HOTSPOT_CONST_NAME, 34 },
        { HOTSPOT_CONST_SIZE, 48 },
        { HOTSPOT_POOL_CLASS, 24 },
        { HOTSPOT_POOL_LENGTH, 60 },
        { HOTSPOT_POOL_SOURCE, 54 },
        { HOTSPOT_POOL_SIZE, 72 },
        { HOTSPOT_CLASS_NAME, 24 },
        { HOTSPOT_CLASS_POOL, 232 },
        { HOTSPOT_SYMBOL_LENGTH, 4 },
        { HOTSPOT_SYMBOL_TEXT, 6 },
    };
    for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
        layout.word[words[i].word] = words[i].value;
    return layout;
}

static inline void hotspot_put(uint8_t *memory, uint64_t at, uint64_t value,
                               size_t size)
{
    memcpy(memory + at, &value, size);
}

static inline void hotspot_put_address(uint8_t *memory, uint64_t at, uint64_t to)
{
    hotspot_put(memory, at, HOTSPOT_MEMORY + to, 8);
}

static inline void hotspot_put_symbol(uint8_t *memory, uint64_t number,
                                      const char *text)
{
    uint64_t at = HOTSPOT_AT_SYMBOLS + 0x40 * number;
    hotspot_put(memory, at + 4, strlen(text), 2);
    memcpy(memory + at + 6, text, strlen(text));
    hotspot_put_address(memory, HOTSPOT_AT_POOL + 72 + 8 * number, at);
}

// hotspot_put_method: 6 bytes of code, the first three of the line, the others of the
// one after it.
static inline void hotspot_put_method(uint8_t *memory, uint64_t at, uint64_t name,
                                      uint8_t line)
{
    uint64_t constant = at + 0x80;
    const uint8_t lines[] = { 0xff, 0, (uint8_t)(2 * line), 3 << 3 | 1, 0 };
    hotspot_put_address(memory, at + 8, constant);
    hotspot_put_address(memory, constant + 8, HOTSPOT_AT_POOL);
    hotspot_put(memory, constant + 24, 8, 4); // words in all
    hotspot_put(memory, constant + 28, 1, 2); // it has lines
    hotspot_put(memory, constant + 32, 6, 2);
    hotspot_put(memory, constant + 34, name, 2);
    memcpy(memory + constant + 48 + 6, lines, sizeof(lines));
}

static inline void hotspot_put_blob(uint8_t *memory, uint64_t block, const char *name,
                                    uint64_t name_at, uint64_t frame_words)
{
    uint64_t blob = block + 16;
    hotspot_put(memory, block + 8, 1, 1);
    memcpy(memory + HOTSPOT_AT_NAMES + name_at, name, strlen(name) + 1);
    hotspot_put_address(memory, blob + 96, HOTSPOT_AT_NAMES + name_at);
    hotspot_put(memory, blob + 20, 0x10, 4);
    hotspot_put(memory, blob + 28, frame_words, 4);
    hotspot_put_address(memory, blob + 32, block + HOTSPOT_CODE_OFFSET);
    hotspot_put_address(memory, blob + 40, block + 0x1000);
}

// hotspot_put_compiled: at offset 0x40 of its code, price runs, inlined into total.
static inline void hotspot_put_compiled(uint8_t *memory)
{
    const uint64_t blob = HOTSPOT_AT_COMPILED + 16;
    const uint8_t scopes[] = { 0, 4, 2, 4, 0, 1, 2 };
    hotspot_put_address(memory, blob + 112, HOTSPOT_AT_METHOD);
    hotspot_put(memory, blob + 260, 0x180, 4);
    hotspot_put_address(memory, blob + 0x180, HOTSPOT_AT_METHOD);
    hotspot_put_address(memory, blob + 0x188, HOTSPOT_AT_PRICE);
    hotspot_put_address(memory, blob + 120, blob + 0x190);
    memcpy(memory + blob + 0x190, scopes, sizeof(scopes));
    hotspot_put(memory, blob + 268, 0x1a0, 4);
    hotspot_put(memory, blob + 272, 0x1d0, 4);
    hotspot_put(memory, blob + 0x1a0, UINT32_MAX, 4);
    hotspot_put(memory, blob + 0x1b0, 0x40, 4);
    hotspot_put(memory, blob + 0x1b4, 1, 4);
    hotspot_put(memory, blob + 0x1c0, 0x7fff, 4);
    hotspot_put_address(memory, blob + 128, HOTSPOT_AT_COMPILED + 0x900);
    hotspot_put(memory, blob + 300, 8, 4);
}

// hotspot_put_word_25 puts a word of a blob of version 25 at an offset that version 17
// does not use.
static inline void hotspot_put_word_25(uint8_t *memory, struct hotspot_layout *layout,
                                       enum hotspot_word word, uint64_t value)
{
    uint64_t offset = 0x200 + 8 * (uint64_t)(word - HOTSPOT_WORDS_SINCE_25);
    layout->word[word] = offset;
    hotspot_put(memory, HOTSPOT_AT_COMPILED + 16 + offset, value, 8);
}

// hotspot_put_compiled_25 gives the compiled method, at offset 0x40 of its code, the
// form of version 25: places are offsets, and in numbers no byte is 0.
static inline void hotspot_put_compiled_25(uint8_t *memory,
                                           struct hotspot_layout *layout)
{
    const uint64_t blob = HOTSPOT_AT_COMPILED + 16;
    const uint64_t fixed = HOTSPOT_MEMORY + blob + 0x180;
    const uint8_t scopes[] = { 1, 5, 3, 5, 1, 2, 3 };
    const uint8_t bytes[] = { 0x10, 0x00 }; // where a frame is complete
    layout->version = 25;
    hotspot_put_word_25(memory, layout, HOTSPOT_BLOB_CODE_OFFSET,
                        HOTSPOT_CODE_OFFSET - 16);
    hotspot_put_word_25(memory, layout, HOTSPOT_BLOB_DATA_OFFSET, 0xff0);
    hotspot_put_word_25(memory, layout, HOTSPOT_BLOB_MUTABLE,
                        HOTSPOT_MEMORY + blob + 0x170);
    hotspot_put_word_25(memory, layout, HOTSPOT_BLOB_RELOCATION_SIZE, 0x10);
    hotspot_put_word_25(memory, layout, HOTSPOT_BLOB_MUTABLE_SIZE, 0x20);
    hotspot_put_word_25(memory, layout, HOTSPOT_COMPILED_IMMUTABLE, fixed);
    hotspot_put_word_25(memory, layout, HOTSPOT_COMPILED_SCOPES_OFFSET, 0x50);
    hotspot_put_word_25(memory, layout, HOTSPOT_COMPILED_IMMUTABLE_SIZE, 0x57);
    hotspot_put_word_25(memory, layout, HOTSPOT_COMPILED_DEOPT_OFFSET, 0x8f0);
    hotspot_put(memory, blob + 268, 0x20, 4); // the addresses, 0x50 - 0x20 bytes
    memcpy(memory + blob + 0x1d0, scopes, sizeof(scopes));
    memcpy(memory + blob + 20, bytes, sizeof(bytes));
}

// hotspot_build fills memory.
static inline void hotspot_build(uint8_t *memory)
{
    memset(memory, 0, HOTSPOT_MEMORY_BYTES);
    hotspot_put(memory, HOTSPOT_AT_VERSION, 17, 4);
    hotspot_put_address(memory, HOTSPOT_AT_HEAPS, HOTSPOT_AT_LIST);
    hotspot_put(memory, HOTSPOT_AT_LIST, 1, 4);
    hotspot_put_address(memory, HOTSPOT_AT_LIST + 8, HOTSPOT_AT_HEAP_POINTERS);
    hotspot_put_address(memory, HOTSPOT_AT_HEAP_POINTERS, HOTSPOT_AT_HEAP);
    hotspot_put_address(memory, HOTSPOT_AT_HEAP + 8 + 16, HOTSPOT_AT_CODE);
    hotspot_put_address(memory, HOTSPOT_AT_HEAP + 8 + 24, HOTSPOT_AT_CODE + 0x4000);
    hotspot_put_address(memory, HOTSPOT_AT_HEAP + 120 + 16, HOTSPOT_AT_MAP);
    hotspot_put_address(memory, HOTSPOT_AT_HEAP + 120 + 24, HOTSPOT_AT_MAP + 0x80);
    hotspot_put(memory, HOTSPOT_AT_HEAP + 256, HOTSPOT_SHIFT, 4);
    // A block has 32 segments; what follows the third one is free.
    for (unsigned i = 0; i < 0x80; i++)
        memory[HOTSPOT_AT_MAP + i] = i < 0x60 ? (uint8_t)(i % 0x20) : 0xff;
    hotspot_put_blob(memory, HOTSPOT_AT_INTERPRETER, "Interpreter", 0, 0);
    hotspot_put_blob(memory, HOTSPOT_AT_STUB, "StubRoutines (1)", 0x20, 0);
    hotspot_put_blob(memory, HOTSPOT_AT_COMPILED, "nmethod", 0x40, HOTSPOT_FRAME_WORDS);
    hotspot_put_address(memory, HOTSPOT_AT_CLASS + 24, HOTSPOT_AT_SYMBOLS + 0x40);
    hotspot_put_address(memory, HOTSPOT_AT_CLASS + 232, HOTSPOT_AT_POOL);
    hotspot_put_address(memory, HOTSPOT_AT_POOL + 24, HOTSPOT_AT_CLASS);
    hotspot_put(memory, HOTSPOT_AT_POOL + 60, 8, 4);
    hotspot_put(memory, HOTSPOT_AT_POOL + 54, 4, 2);
    hotspot_put_symbol(memory, 1, "shop/Cart");
    hotspot_put_symbol(memory, 2, "total");
    hotspot_put_symbol(memory, 3, "price");
    hotspot_put_symbol(memory, 4, "Cart.java");
    hotspot_put_method(memory, HOTSPOT_AT_METHOD, 2, 10);
    hotspot_put_method(memory, HOTSPOT_AT_PRICE, 3, 20);
    hotspot_put_compiled(memory);
}

// hotspot_of is the virtual machine in that memory, without its heaps.
static inline struct hotspot hotspot_of(const struct memory_reader *reader)
{
    return (struct hotspot){ .reader = reader,
                             .arch = &unwind_arch_amd64,
                             .layout = hotspot_layout_17() };
}
