// SPDX-License-Identifier: Apache-2.0
#include "agent/messages/runtime_places.h"

#include <string.h>

#include "agent/follow/code_walk.h"
#include "base/cursor.h"
#include "images/image_frames.h"
#include "images/image_symbol.h"

enum {
    CODE_BYTES = 64,
    // The thread's descriptor (Drepper's TLS ABI) has a pointer to the table of its
    // modules' blocks (the DTV), whose entries are two words, the first being the
    // block's address.
    TABLE_OFFSET = 8,
    TABLE_ENTRY_BYTES = 16,
    MODULES_MAX = 1 << 16,
};

static const char library[] = "/libstdc++.so";

static bool image_has_path(const struct target_image *image, const char *part)
{
    return memmem(image->path, image->path_size, part, strlen(part)) != NULL;
}

// find_in_static_program is the address of a symbol of a static program, which alone
// its file tells; 0: the program is not static, or is stripped.
static uint64_t find_in_static_program(const struct capture *capture, const char *name)
{
    struct target_image *program = NULL;
    struct elf_view file;
    if (!capture_is_process(capture) || capture->narrow)
        return 0;
    for (size_t i = 0; i < capture->images.count; i++) {
        struct target_image *image = &capture->images.images[i];
        if (image_has_path(image, "/libc.so") || image_has_path(image, "/ld-"))
            return 0;
        if (program == NULL && image->path_size != 0 && image->path[0] == '/')
            program = image;
    }
    if (program == NULL || image_frames_open(program, &file) != CH_OK)
        return 0;
    uint64_t vaddr = image_symbol_in_file(&file, name);
    return vaddr != 0 ? program->bias + vaddr : 0;
}

uint64_t runtime_find_abort_message(const struct capture *capture)
{
    uint64_t found = image_symbol_find_in(&capture->reader, &capture->images,
                                          "/libc.so", "__abort_msg");
    return found != 0 ? found : find_in_static_program(capture, "__abort_msg");
}

uint64_t runtime_find_assert_fail(const struct capture *capture)
{
    static const char *const libraries[] = { "/libc.so", "/ld-musl-" };
    uint64_t found = 0;
    for (size_t i = 0; found == 0 && i < sizeof(libraries) / sizeof(libraries[0]); i++)
        found = image_symbol_find_in(&capture->reader, &capture->images, libraries[i],
                                     "__assert_fail");
    return found != 0 ? found : find_in_static_program(capture, "__assert_fail");
}

// A pattern is the bytes of an instruction before its 32-bit operand.
struct pattern {
    const char *bytes;
    size_t size;
};

// find_pattern finds the first match of any of count patterns from at on, and its
// operand.
static bool find_pattern(const uint8_t code[static CODE_BYTES], size_t at,
                         const struct pattern *patterns, size_t count, size_t *out_end,
                         int32_t *out_value)
{
    for (; at < CODE_BYTES; at++) {
        for (size_t i = 0; i < count; i++) {
            size_t end = at + patterns[i].size + sizeof(*out_value);
            if (end > CODE_BYTES ||
                memcmp(code + at, patterns[i].bytes, patterns[i].size) != 0)
                continue;
            memcpy(out_value, code + end - sizeof(*out_value), sizeof(*out_value));
            *out_end = end;
            return true;
        }
    }
    return false;
}

// module_block is where the thread has a module's thread-local variables.
static bool module_block(const struct capture *capture, uint64_t module, uint64_t *out)
{
    const struct memory_reader *reader = &capture->reader;
    uint64_t table;
    return module != 0 && module < MODULES_MAX &&
           memory_read_word(reader, capture->crash->thread_pointer + TABLE_OFFSET,
                            &table) == CH_OK &&
           memory_read_word(reader, table + module * TABLE_ENTRY_BYTES, out) == CH_OK &&
           *out != UINT64_MAX; // not yet allocated for this thread
}

// follow_globals follows __cxa_get_globals at get. What it calls to find where the
// thread has the variable does as little as it does.
static uint64_t follow_globals(const struct capture *capture, uint64_t get)
{
    const struct code_walk walk = { .arch = capture->arch->id,
                                    .thread = capture->crash->thread_pointer,
                                    .memory = &capture->reader,
                                    .is_code = images_is_code,
                                    .context = (void *)(uintptr_t)&capture->images };
    uint64_t globals;
    return code_walk_call(&walk, get, 0, &globals) == CH_OK ? globals : 0;
}

// find_globals computes what __cxa_get_globals at get would return. On x86-64, linkers
// relax one TLS form into another, so the code has one of the forms they know: `mov
// %fs:0,%rax`, or `lea X(%rip),%rdi; call __tls_get_addr`, then an `add` or `lea` with
// the offset.
static uint64_t find_globals(const struct capture *capture, uint64_t get)
{
    static const struct pattern thread[] = { { "\x64\x48\x8b\x04\x25", 5 } };
    static const struct pattern index[] = { { "\x48\x8d\x3d", 3 } };
    static const struct pattern add[] = { { "\x48\x05", 2 }, { "\x48\x8d\x80", 3 } };
    const struct memory_reader *reader = &capture->reader;
    uint8_t code[CODE_BYTES];
    uint64_t words[2];
    uint64_t block;
    size_t end = 0;
    int32_t value = 0;
    int32_t distance = 0;
    if (get == 0 || capture->crash->thread_pointer == 0)
        return 0;
    if (capture->arch->id == UNWIND_ARCH_AARCH64)
        return follow_globals(capture, get);
    if (capture->arch->id != UNWIND_ARCH_AMD64 ||
        memory_read(reader, get, code, sizeof(code)) != CH_OK)
        return 0;
    if (find_pattern(code, 0, thread, 1, &end, &value)) {
        if (!find_pattern(code, end, add, 2, &end, &distance))
            return 0;
        return capture->crash->thread_pointer + (uint64_t)(int64_t)distance;
    }
    if (!find_pattern(code, 0, index, 1, &end, &value))
        return 0;
    uint64_t place = get + end + (uint64_t)(int64_t)value;
    (void)find_pattern(code, end, add, 2, &end, &distance);
    if (memory_read_word(reader, place, &words[0]) != CH_OK ||
        memory_read_word(reader, place + 8, &words[1]) != CH_OK ||
        !module_block(capture, words[0], &block))
        return 0;
    return block + words[1] + (uint64_t)(int64_t)distance;
}

static uint64_t find_runtime_symbol(const struct capture *capture, const char *name)
{
    return image_symbol_find_in(&capture->reader, &capture->images, library, name);
}

void runtime_find_exceptions(const struct capture *capture,
                             struct exception_place *place)
{
    uint64_t get = capture->crash->get_globals;
    if (place->terminate == 0)
        place->terminate = find_runtime_symbol(capture, "_ZSt9terminatev");
    if (place->set_terminate == 0)
        place->set_terminate = find_runtime_symbol(capture, "_ZSt13set_terminatePFvvE");
    if (place->globals == 0)
        place->globals = find_globals(
            capture,
            get != 0 ? get : find_runtime_symbol(capture, "__cxa_get_globals"));
}
