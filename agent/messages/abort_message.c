// SPDX-License-Identifier: Apache-2.0
#include "agent/messages/abort_message.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "base/memory_reader.h"

// Limits of the search: words of stack, and bytes of code before the call.
enum { STACK_WORDS = 1024, BLOCK_WORDS = 64, CODE_BYTES = 96, WORDS_MAX = 512 };

enum argument { EXPRESSION, FILE_NAME, LINE, FUNCTION, ARGUMENTS };

// A load is an instruction pattern by which compilers set a 32-bit argument: the bytes
// before the operand and those after it. With from_end, the operand is relative to the
// end of the instruction.
static const struct load {
    const char *before;
    const char *after;
    enum argument argument;
    uint8_t before_size;
    uint8_t after_size;
    bool from_end;
} loads[] = {
    // lea X(%rip), %rdi, and likewise for other registers
    { "\x48\x8d\x3d", "", EXPRESSION, 3, 0, true },
    { "\x48\x8d\x35", "", FILE_NAME, 3, 0, true },
    { "\x48\x8d\x0d", "", FUNCTION, 3, 0, true },
    // lea X(%rip), %rax; mov %rax, %rdi
    { "\x48\x8d\x05", "\x48\x89\xc7", EXPRESSION, 3, 3, true },
    { "\x48\x8d\x05", "\x48\x89\xc6", FILE_NAME, 3, 3, true },
    { "\x48\x8d\x05", "\x48\x89\xc1", FUNCTION, 3, 3, true },
    // mov $X, %edi
    { "\xbf", "", EXPRESSION, 1, 0, false },
    { "\xbe", "", FILE_NAME, 1, 0, false },
    { "\xba", "", LINE, 1, 0, false },
    { "\xb9", "", FUNCTION, 1, 0, false },
};

static bool read_operand_offset(const struct memory_reader *reader, uint64_t address,
                                uint64_t *out)
{
    int32_t offset;
    if (memory_read(reader, address, &offset, sizeof(offset)) != CH_OK)
        return false;
    *out = address + sizeof(offset) + (uint64_t)(int64_t)offset;
    return true;
}

// leads_to returns true if the code at address is a PLT entry: a jump through a word
// that holds function.
static bool leads_to(const struct memory_reader *reader, uint64_t address,
                     uint64_t function)
{
    static const char *const jumps[] = { "\xff\x25", "\xf3\x0f\x1e\xfa\xff\x25",
                                         "\xf3\x0f\x1e\xfa\xf2\xff\x25" };
    uint8_t code[8];
    uint64_t place;
    uint64_t target;
    if (memory_read(reader, address, code, sizeof(code)) != CH_OK)
        return false;
    for (size_t i = 0; i < sizeof(jumps) / sizeof(jumps[0]); i++) {
        size_t size = strlen(jumps[i]);
        if (memcmp(code, jumps[i], size) == 0 &&
            read_operand_offset(reader, address + size, &place) &&
            memory_read_word(reader, place, &target) == CH_OK && target == function)
            return true;
    }
    return false;
}

// is_assert_call returns true if the instruction before after is a call of function;
// *out is then the address of that instruction.
static bool is_assert_call(const struct memory_reader *reader, uint64_t after,
                           uint64_t function, uint64_t *out)
{
    enum { DIRECT = 5, INDIRECT = 6 };
    uint8_t code[INDIRECT];
    uint64_t target;
    if (memory_read(reader, after - INDIRECT, code, sizeof(code)) != CH_OK ||
        !read_operand_offset(reader, after - 4, &target))
        return false;
    if (code[1] == 0xe8 && (target == function || leads_to(reader, target, function))) {
        *out = after - DIRECT;
        return true;
    }
    *out = after - INDIRECT;
    return code[0] == 0xff && code[1] == 0x15 &&
           memory_read_word(reader, target, &target) == CH_OK && target == function;
}

static bool find_call(const struct memory_reader *reader,
                      const struct assert_place *place, uint64_t *out)
{
    uint64_t words[BLOCK_WORDS];
    for (size_t at = 0; at < STACK_WORDS; at += BLOCK_WORDS) {
        uint64_t from = place->sp + at * sizeof(words[0]);
        if (memory_read(reader, from, words, sizeof(words)) != CH_OK)
            return false;
        for (size_t i = 0; i < BLOCK_WORDS; i++) {
            if (place->is_code(place->context, words[i] - 1) &&
                is_assert_call(reader, words[i], place->function, out))
                return true;
        }
    }
    return false;
}

// load_at decodes the load at offset at of the code, if it is one, and gives the value
// that it puts into its argument.
static bool load_at(const struct load *load, const uint8_t *code, size_t at,
                    uint64_t code_address, uint64_t *out)
{
    int32_t value;
    size_t end = at + load->before_size + sizeof(value);
    if (end + load->after_size > CODE_BYTES ||
        memcmp(code + at, load->before, load->before_size) != 0 ||
        memcmp(code + end, load->after, load->after_size) != 0)
        return false;
    memcpy(&value, code + at + load->before_size, sizeof(value));
    *out = load->from_end ? code_address + end + (uint64_t)(int64_t)value
                          : (uint32_t)value;
    return true;
}

static bool assert_is_text(const struct memory_reader *reader, uint64_t address,
                           char out[static WORDS_MAX])
{
    enum ch_status status = memory_read_string(reader, address, out, WORDS_MAX);
    if (status != CH_OK && status != CH_ERR_TRUNCATED)
        return false;
    for (const char *at = out; *at != 0; at++) {
        if ((unsigned char)*at < ' ' && *at != '\t' && *at != '\n')
            return false;
    }
    return out[0] != 0;
}

struct arguments {
    uint64_t line;
    char words[ARGUMENTS][WORDS_MAX];
    bool found[ARGUMENTS];
};

// take_assert_call keeps a value that is usable as its argument: a readable text or,
// for the line, a number other than 0.
static void take_assert_call(const struct memory_reader *reader, enum argument argument,
                             uint64_t value, struct arguments *out)
{
    if (argument == LINE) {
        out->line = value;
        out->found[LINE] = value != 0;
        return;
    }
    out->found[argument] = assert_is_text(reader, value, out->words[argument]);
}

// find_assert_arguments searches backwards from the call, because the load nearest to
// the call is the one in effect.
static bool find_assert_arguments(const struct memory_reader *reader, uint64_t call,
                                  struct arguments *out)
{
    uint8_t code[CODE_BYTES];
    uint64_t start = call - CODE_BYTES;
    if (memory_read(reader, start, code, sizeof(code)) != CH_OK)
        return false;
    for (size_t at = CODE_BYTES; at-- > 0;) {
        for (size_t i = 0; i < sizeof(loads) / sizeof(loads[0]); i++) {
            uint64_t value;
            if (!out->found[loads[i].argument] &&
                load_at(&loads[i], code, at, start, &value))
                take_assert_call(reader, loads[i].argument, value, out);
        }
    }
    return out->found[EXPRESSION] && out->found[FILE_NAME];
}

enum ch_status assert_call_read(const struct memory_reader *reader,
                                const struct assert_place *place,
                                char out[static ABORT_MESSAGE_MAX])
{
    struct arguments arguments = { 0 };
    uint64_t call;
    if (place->function == 0 || !find_call(reader, place, &call) ||
        !find_assert_arguments(reader, call, &arguments))
        return CH_ERR_NOT_FOUND;
    const char *function = arguments.found[FUNCTION] ? arguments.words[FUNCTION] : "?";
    (void)snprintf(out, ABORT_MESSAGE_MAX, "Assertion failed: %s (%s: %s: %" PRIu64 ")",
                   arguments.words[EXPRESSION], arguments.words[FILE_NAME], function,
                   arguments.line);
    abort_message_clean(out);
    return CH_OK;
}

// size_before is the length of the line at text up to words, or of all of it.
static int size_before(const char *text, const char *words)
{
    size_t size = strcspn(text, "\n");
    const char *at = strstr(text, words);
    if (at != NULL && (size_t)(at - text) < size)
        size = (size_t)(at - text);
    return (int)size;
}

enum ch_status sanitizer_words_read(const struct memory_reader *reader, uint64_t place,
                                    char out[static ABORT_MESSAGE_MAX])
{
    // "==7==ERROR: AddressSanitizer: heap-use-after-free on address 0x1 at pc 0x2 ...",
    // and on the next line "READ of size 4 at 0x1 thread T0".
    static const char before[] = "ERROR: AddressSanitizer: ";
    char text[ABORT_MESSAGE_MAX] = "";
    if (place == 0)
        return CH_ERR_NOT_FOUND;
    enum ch_status status = memory_read_string(reader, place, text, sizeof(text));
    if (status != CH_OK && text[0] == 0)
        return status;
    const char *first = strstr(text, before);
    if (first == NULL)
        return CH_ERR_NOT_FOUND;
    const char *second = strchr(first, '\n');
    bool access = second != NULL && (strncmp(second + 1, "READ of ", 8) == 0 ||
                                     strncmp(second + 1, "WRITE of ", 9) == 0);
    // The backtrace has the addresses of code, so they are cut here.
    int size = size_before(first, " at pc ");
    int size_of_signal = size_before(first, " (pc ");
    (void)snprintf(out, ABORT_MESSAGE_MAX, "%.*s%s%.*s",
                   size < size_of_signal ? size : size_of_signal, first,
                   access ? ", " : "", access ? size_before(second + 1, " at 0x") : 0,
                   access ? second + 1 : "");
    abort_message_clean(out);
    return CH_OK;
}

// glibc's struct abort_msg_s is an unsigned int followed by the text.
enum { TEXT_OFFSET = 4 };

static bool message_is_blank(char c)
{
    return (unsigned char)c <= ' ' || c == 0x7f;
}

void abort_message_clean(char *text)
{
    size_t begin = 0;
    size_t size = strlen(text);
    while (size != 0 && message_is_blank(text[size - 1]))
        size--;
    while (begin < size && message_is_blank(text[begin]))
        begin++;
    size -= begin;
    memmove(text, text + begin, size);
    text[size] = 0;
    for (size_t i = 0; i < size; i++) {
        if (message_is_blank(text[i]))
            text[i] = ' ';
    }
}

enum ch_status abort_message_read(const struct memory_reader *reader, uint64_t place,
                                  char out[static ABORT_MESSAGE_MAX])
{
    char text[ABORT_MESSAGE_MAX];
    uint64_t message;
    if (place == 0)
        return CH_ERR_NOT_FOUND;
    enum ch_status status = memory_read_word(reader, place, &message);
    if (status != CH_OK)
        return status;
    if (message == 0)
        return CH_ERR_NOT_FOUND;
    status = memory_read_string(reader, message + TEXT_OFFSET, text, sizeof(text));
    // A text that is too long or torn is still worth its beginning.
    if (status != CH_OK && text[0] == 0)
        return status;
    abort_message_clean(text);
    if (text[0] == 0)
        return CH_ERR_NOT_FOUND;
    memcpy(out, text, strlen(text) + 1);
    return CH_OK;
}
