// SPDX-License-Identifier: Apache-2.0
//
// Methods of Java: which of them an address of compiled code belongs to, and their
// names and lines.
#include <stdlib.h>
#include <string.h>

#include "base/cursor.h"
#include "formats/runtime/java_lines.h"
#include "languages/hotspot.h"
#include "unwind/unwind_state.h"

enum {
    HAS_LINES = 1,           // a flag of a method's constant part
    SCOPE_BYTES = 32,        // of the record of a scope that are read
    POOL_LENGTH_MAX = 65536, // of a class file
};

// excluded_values is how many values a byte of a compressed number lacks.
static uint32_t excluded_values(const struct hotspot *hotspot)
{
    return hotspot->layout.version >= 20;
}

bool hotspot_member(const struct hotspot *hotspot, uint64_t object,
                    enum hotspot_word member, uint64_t *out)
{
    return memory_read_word(hotspot->reader, object + hotspot->layout.word[member],
                            out) == CH_OK;
}

bool hotspot_number(const struct hotspot *hotspot, uint64_t object,
                    enum hotspot_word member, size_t size, uint64_t *out)
{
    uint8_t bytes[sizeof(uint64_t)];
    if (size > sizeof(bytes) ||
        memory_read(hotspot->reader, object + hotspot->layout.word[member], bytes,
                    size) != CH_OK)
        return false;
    struct cursor c = cursor_over(bytes, size);
    *out = cursor_uint(&c, size);
    return true;
}

bool hotspot_place_in_blob(const struct hotspot *hotspot, uint64_t blob,
                           enum hotspot_word until_21, enum hotspot_word since_25,
                           uint64_t *out)
{
    uint64_t offset;
    if (!hotspot_has_offsets(&hotspot->layout))
        return hotspot_member(hotspot, blob, until_21, out);
    if (!hotspot_number(hotspot, blob, since_25, sizeof(uint32_t), &offset))
        return false;
    *out = blob + offset;
    return true;
}

bool hotspot_is_method(struct hotspot *hotspot, uint64_t object)
{
    uint64_t *known = &hotspot->known[(object * UINT64_C(0x9e3779b97f4a7c15)) >> 58];
    uint64_t constant;
    uint64_t pool;
    uint64_t holder;
    uint64_t back;
    if (object == 0 || object % 8 != 0)
        return false;
    if (*known == object)
        return true;
    if (!hotspot_member(hotspot, object, HOTSPOT_METHOD_CONST, &constant) ||
        !hotspot_member(hotspot, constant, HOTSPOT_CONST_POOL, &pool) || pool == 0 ||
        !hotspot_member(hotspot, pool, HOTSPOT_POOL_CLASS, &holder) ||
        !hotspot_member(hotspot, holder, HOTSPOT_CLASS_POOL, &back) || back != pool)
        return false;
    *known = object;
    return true;
}

int32_t hotspot_bytecode(const struct hotspot *hotspot, uint64_t method,
                         uint64_t address)
{
    uint64_t constant;
    uint64_t size;
    if (!hotspot_member(hotspot, method, HOTSPOT_METHOD_CONST, &constant) ||
        !hotspot_number(hotspot, constant, HOTSPOT_CONST_CODE_SIZE, 2, &size))
        return INTERPRETED_NO_OFFSET;
    uint64_t offset = address - constant - hotspot->layout.word[HOTSPOT_CONST_SIZE];
    return offset < size ? (int32_t)offset : INTERPRETED_NO_OFFSET;
}

// A hotspot_compiled is the tables of a compiled method: of its scopes, of the
// addresses that have one, and of the methods that are mentioned.
struct hotspot_compiled {
    uint64_t scopes;
    uint64_t scopes_end;
    uint64_t pcs;
    uint64_t pcs_end;
    uint64_t pc_count;
    uint64_t methods;
    uint64_t methods_end;
    uint64_t method_count;
};

// read_tables_21 reads where the tables are in a blob until version 21.
static bool read_tables_21(const struct hotspot *hotspot, uint64_t blob,
                           struct hotspot_compiled *out)
{
    if (!hotspot_member(hotspot, blob, HOTSPOT_COMPILED_SCOPES, &out->scopes) ||
        !hotspot_number(hotspot, blob, HOTSPOT_COMPILED_METADATA, 4, &out->methods) ||
        !hotspot_number(hotspot, blob, HOTSPOT_COMPILED_PCS, 4, &out->pcs) ||
        !hotspot_number(hotspot, blob, HOTSPOT_COMPILED_PCS_END, 4, &out->pcs_end))
        return false;
    out->methods += blob;
    out->methods_end = out->scopes;
    out->pcs += blob;
    out->pcs_end += blob;
    out->scopes_end = out->pcs;
    return true;
}

// read_tables_25 reads where they are since version 25: the methods after what
// relocates the code, in the memory that may change, the others in the memory that
// does not.
static bool read_tables_25(const struct hotspot *hotspot, uint64_t blob,
                           struct hotspot_compiled *out)
{
    uint64_t changing;
    uint64_t fixed;
    if (!hotspot_member(hotspot, blob, HOTSPOT_BLOB_MUTABLE, &changing) ||
        !hotspot_member(hotspot, blob, HOTSPOT_COMPILED_IMMUTABLE, &fixed) ||
        !hotspot_number(hotspot, blob, HOTSPOT_BLOB_RELOCATION_SIZE, 4,
                        &out->methods) ||
        !hotspot_number(hotspot, blob, HOTSPOT_BLOB_MUTABLE_SIZE, 4,
                        &out->methods_end) ||
        !hotspot_number(hotspot, blob, HOTSPOT_COMPILED_PCS, 4, &out->pcs) ||
        !hotspot_number(hotspot, blob, HOTSPOT_COMPILED_SCOPES_OFFSET, 4,
                        &out->scopes) ||
        !hotspot_number(hotspot, blob, HOTSPOT_COMPILED_IMMUTABLE_SIZE, 4,
                        &out->scopes_end))
        return false;
    out->methods += changing;
    out->methods_end += changing;
    out->pcs += fixed;
    out->scopes += fixed;
    out->scopes_end += fixed;
    out->pcs_end = out->scopes;
    return true;
}

static bool read_compiled(const struct hotspot *hotspot, uint64_t blob,
                          struct hotspot_compiled *out)
{
    uint64_t size = hotspot->layout.word[HOTSPOT_PC_SIZE];
    bool read = hotspot_has_offsets(&hotspot->layout)
                    ? read_tables_25(hotspot, blob, out)
                    : read_tables_21(hotspot, blob, out);
    if (!read || size < sizeof(uint64_t) || out->pcs > out->pcs_end ||
        out->methods > out->methods_end || out->scopes > out->scopes_end)
        return false;
    out->pc_count = (out->pcs_end - out->pcs) / size;
    out->method_count = (out->methods_end - out->methods) / sizeof(uint64_t);
    return true;
}

// find_scope gives the scope of the return address at offset in a method's code. The
// table is sorted by offset.
static bool find_scope(const struct hotspot *hotspot,
                       const struct hotspot_compiled *compiled, uint64_t offset,
                       uint64_t *out)
{
    const uint64_t size = hotspot->layout.word[HOTSPOT_PC_SIZE];
    uint64_t begin = 0;
    uint64_t end = compiled->pc_count;
    while (begin < end) {
        uint64_t middle = begin + (end - begin) / 2;
        uint64_t entry = compiled->pcs + middle * size;
        uint64_t at;
        if (!hotspot_number(hotspot, entry, HOTSPOT_PC_OFFSET, 4, &at))
            return false;
        if (at == offset)
            return hotspot_number(hotspot, entry, HOTSPOT_PC_SCOPE, 4, out) &&
                   *out != 0;
        if ((int32_t)at < (int64_t)offset)
            begin = middle + 1;
        else
            end = middle;
    }
    return false;
}

// read_scope reads the scope at offset: its method, the bytecode, and the offset of the
// scope that it was inlined into, which is 0 for none.
static bool read_scope(struct hotspot *hotspot, const struct hotspot_compiled *compiled,
                       uint64_t *offset, struct interpreted_frame *out)
{
    uint8_t bytes[SCOPE_BYTES];
    uint64_t left = compiled->scopes_end - compiled->scopes;
    if (*offset >= left)
        return false;
    left -= *offset;
    size_t size = left < sizeof(bytes) ? (size_t)left : sizeof(bytes);
    if (memory_read(hotspot->reader, compiled->scopes + *offset, bytes, size) != CH_OK)
        return false;
    const uint32_t excluded = excluded_values(hotspot);
    struct cursor c = cursor_over(bytes, size);
    uint32_t sender = java_lines_number(&c, excluded);
    uint32_t number = java_lines_number(&c, excluded);
    int32_t bytecode = (int32_t)java_lines_number(&c, excluded) - 1;
    uint64_t method;
    if (!cursor_ok(&c) || number == 0 || number > compiled->method_count ||
        memory_read_word(hotspot->reader,
                         compiled->methods + 8 * (uint64_t)(number - 1),
                         &method) != CH_OK ||
        !hotspot_is_method(hotspot, method))
        return false;
    *out = (struct interpreted_frame){ .code = method, .offset = bytecode };
    if (bytecode < 0) // before its first one
        out->offset = 0;
    *offset = sender;
    return true;
}

// collect_scopes adds the methods at an offset of a compiled method's code. False: they
// are not known.
static bool collect_scopes(struct hotspot *hotspot, uint64_t blob, uint64_t offset,
                           struct interpreted *table)
{
    struct hotspot_compiled compiled;
    uint64_t scope;
    if (!read_compiled(hotspot, blob, &compiled) ||
        !find_scope(hotspot, &compiled, offset, &scope))
        return false;
    for (size_t i = 0; i < HOTSPOT_INLINED_MAX; i++) {
        struct interpreted_frame one;
        if (!read_scope(hotspot, &compiled, &scope, &one) ||
            interpreted_add(table, one) != CH_OK)
            return false;
        if (scope == 0)
            return true;
    }
    return false;
}

bool hotspot_collect_compiled(struct hotspot *hotspot, const struct hotspot_code *code,
                              const struct unwind_frame *frame,
                              const struct unwind_state *state,
                              struct interpreted *table)
{
    uint64_t pc = frame->address;
    uint64_t deoptimized;
    uint64_t original;
    uint64_t stood;
    uint64_t method;
    size_t first = table->frame_count;
    // A method that is to continue in the interpreter returns to other code; its frame
    // has the address of the bytecode.
    if (hotspot_place_in_blob(hotspot, code->blob, HOTSPOT_COMPILED_DEOPT,
                              HOTSPOT_COMPILED_DEOPT_OFFSET, &deoptimized) &&
        pc == deoptimized &&
        hotspot_number(hotspot, code->blob, HOTSPOT_COMPILED_ORIGINAL_PC, 4,
                       &original) &&
        original < code->frame_bytes &&
        memory_read_word(hotspot->reader,
                         state->registers.value[hotspot->arch->sp] + original,
                         &stood) == CH_OK)
        pc = stood;
    if (collect_scopes(hotspot, code->blob, pc - code->begin, table))
        return true;
    // Where it crashed there is no record, and which of the inlined ones ran is not
    // known.
    table->frame_count = first;
    if (!hotspot_member(hotspot, code->blob, HOTSPOT_COMPILED_METHOD, &method) ||
        !hotspot_is_method(hotspot, method))
        return false;
    const struct interpreted_frame one = { .code = method,
                                           .offset = INTERPRETED_NO_OFFSET };
    return interpreted_add(table, one) == CH_OK;
}

// read_symbol appends a name of the virtual machine's, at most HOTSPOT_NAME_MAX bytes.
static bool read_symbol(const struct hotspot *hotspot, uint64_t symbol,
                        struct text *out)
{
    char bytes[HOTSPOT_NAME_MAX];
    uint64_t length;
    if (symbol == 0 ||
        !hotspot_number(hotspot, symbol, HOTSPOT_SYMBOL_LENGTH, 2, &length) ||
        length == 0)
        return false;
    size_t size = length < sizeof(bytes) ? (size_t)length : sizeof(bytes);
    if (memory_read(hotspot->reader, symbol + hotspot->layout.word[HOTSPOT_SYMBOL_TEXT],
                    bytes, size) != CH_OK)
        return false;
    for (size_t i = 0; i < size; i++)
        if ((unsigned char)bytes[i] < ' ' || bytes[i] == 0x7f)
            bytes[i] = '?';
    text_append(out, bytes, size);
    return text_ok(out);
}

// read_pool_symbol appends the name with a number in a constant pool.
static bool read_pool_symbol(const struct hotspot *hotspot, uint64_t pool,
                             uint64_t number, struct text *out)
{
    uint64_t length;
    uint64_t symbol;
    return hotspot_number(hotspot, pool, HOTSPOT_POOL_LENGTH, 4, &length) &&
           length <= POOL_LENGTH_MAX && number != 0 && number < length &&
           memory_read_word(hotspot->reader,
                            pool + hotspot->layout.word[HOTSPOT_POOL_SIZE] + 8 * number,
                            &symbol) == CH_OK &&
           read_symbol(hotspot, symbol, out);
}

// append_class appends a class's name with dots. Of a class without a name of its own
// the address that follows is left out: it differs from run to run.
static bool append_class(const struct hotspot *hotspot, uint64_t holder,
                         struct text *out)
{
    struct text CH_CLEANUP(text_deinit) name = { 0 };
    uint64_t symbol;
    if (!hotspot_member(hotspot, holder, HOTSPOT_CLASS_NAME, &symbol) ||
        !read_symbol(hotspot, symbol, &name))
        return false;
    const char *address = strstr(name.bytes, "+0x");
    size_t size = address != NULL ? (size_t)(address - name.bytes) : name.size;
    for (size_t i = 0; i < size; i++)
        if (name.bytes[i] == '/')
            name.bytes[i] = '.';
    text_append(out, name.bytes, size);
    return text_ok(out);
}

// read_java_line finds a frame's line in its method's table; 0: it is not known.
static uint32_t read_java_line(const struct hotspot *hotspot, uint64_t constant,
                               int32_t offset)
{
    uint64_t flags;
    uint64_t words;
    uint64_t code_size;
    uint32_t line = 0;
    if (offset == INTERPRETED_NO_OFFSET ||
        !hotspot_number(hotspot, constant, HOTSPOT_CONST_FLAGS, 2, &flags) ||
        (flags & HAS_LINES) == 0 ||
        !hotspot_number(hotspot, constant, HOTSPOT_CONST_WORDS, 4, &words) ||
        !hotspot_number(hotspot, constant, HOTSPOT_CONST_CODE_SIZE, 2, &code_size))
        return 0;
    uint64_t begin = hotspot->layout.word[HOTSPOT_CONST_SIZE] + code_size;
    uint64_t size = 8 * words - begin;
    if (8 * words < begin || size > HOTSPOT_LINES_MAX)
        return 0;
    uint8_t *bytes = malloc((size_t)size + 1);
    if (bytes != NULL &&
        memory_read(hotspot->reader, constant + begin, bytes, (size_t)size) == CH_OK &&
        java_lines_find(bytes, (size_t)size, excluded_values(hotspot), offset, &line) !=
            CH_OK)
        line = 0;
    free(bytes);
    return line;
}

void hotspot_describe(const struct hotspot *hotspot,
                      const struct interpreted_frame *frame, struct hotspot_place *out)
{
    uint64_t constant;
    uint64_t pool;
    uint64_t holder;
    uint64_t name;
    uint64_t source;
    *out = (struct hotspot_place){ 0 };
    if (!hotspot_member(hotspot, frame->code, HOTSPOT_METHOD_CONST, &constant) ||
        !hotspot_member(hotspot, constant, HOTSPOT_CONST_POOL, &pool) ||
        !hotspot_number(hotspot, constant, HOTSPOT_CONST_NAME, 2, &name) ||
        !hotspot_member(hotspot, pool, HOTSPOT_POOL_CLASS, &holder) ||
        !append_class(hotspot, holder, &out->function)) {
        text_deinit(&out->function);
        return;
    }
    text_append_string(&out->function, ".");
    if (!read_pool_symbol(hotspot, pool, name, &out->function)) {
        text_deinit(&out->function);
        return;
    }
    if (hotspot_number(hotspot, pool, HOTSPOT_POOL_SOURCE, 2, &source) &&
        read_pool_symbol(hotspot, pool, source, &out->file))
        out->line = read_java_line(hotspot, constant, frame->offset);
    else
        text_deinit(&out->file);
}

void hotspot_place_deinit(struct hotspot_place *place)
{
    text_deinit(&place->function);
    text_deinit(&place->file);
}
