// SPDX-License-Identifier: Apache-2.0
#include "formats/interchange/minidump.h"

#include <string.h>

#include "base/utf8.h"
#include "formats/debug/elf.h"

enum {
    SIGNATURE = 0x504d444d, // "MDMP"
    VERSION = 0xa793,
    DIRECTORY_MAX = 4096,
    THREAD_BYTES = 48,
    MODULE_BYTES = 108,
    RANGE_BYTES = 16,
    ANNOTATIONS_MAX = 1000,
    CODEVIEW_ELF = 0x4270454c,   // "LEpB": a build ID follows
    CODEVIEW_PDB70 = 0x53445352, // "RSDS": its first 16 bytes, as a GUID
    NOT_REQUESTED = 0xffffffff,  // the "signal" of a dump without a crash
};

// What the system stream says.
enum {
    CPU_AMD64 = 9,
    CPU_ARM64 = 12,
    CPU_ARM64_OLD = 0x8003, // Breakpad's number before there was one
    SYSTEM_LINUX = 0x8201,
    SYSTEM_ANDROID = 0x8203,
};

const uint8_t minidump_amd64[17] = { 0, 2,  1,  3,  7,  6,  4,  5, 8,
                                     9, 10, 11, 12, 13, 14, 15, 16 };
const uint8_t minidump_guid[16] = {
    3, 2, 1, 0, 5, 4, 7, 6, 8, 9, 10, 11, 12, 13, 14, 15
};

bool minidump_is(const void *bytes, size_t size)
{
    struct cursor c = cursor_over(bytes, size);
    return cursor_u32(&c) == SIGNATURE && cursor_ok(&c);
}

// at gives the size bytes at offset of the file; a poisoned cursor: they are not there.
static struct cursor at(const struct minidump *dump, uint64_t offset, uint64_t size)
{
    struct cursor c = dump->file;
    cursor_seek(&c, offset <= SIZE_MAX ? (size_t)offset : SIZE_MAX);
    return cursor_child(&c, size <= SIZE_MAX ? (size_t)size : SIZE_MAX);
}

static enum minidump_stream stream_of(uint32_t type)
{
    static const uint32_t types[MINIDUMP_STREAMS] = {
        [MINIDUMP_THREADS] = 3,       [MINIDUMP_MODULES] = 4,
        [MINIDUMP_MEMORY] = 5,        [MINIDUMP_EXCEPTION] = 6,
        [MINIDUMP_SYSTEM] = 7,        [MINIDUMP_MEMORY64] = 9,
        [MINIDUMP_MISC] = 15,         [MINIDUMP_CRASHPAD] = 0x43500001,
        [MINIDUMP_AUXV] = 0x47670008, [MINIDUMP_ARGUMENTS] = 0x47670006,
        [MINIDUMP_MAPS] = 0x47670009,
    };
    size_t i = 0;
    while (i < MINIDUMP_STREAMS && types[i] != type)
        i++;
    return (enum minidump_stream)i;
}

// read_system reads which processor and system the dump is of.
static enum ch_status read_system(struct minidump *dump, const char **out_why)
{
    struct cursor c = dump->streams[MINIDUMP_SYSTEM];
    uint16_t processor = cursor_u16(&c);
    cursor_skip(&c, 18);
    uint32_t system = cursor_u32(&c);
    *out_why = "it does not say of which system it is";
    if (!cursor_ok(&c))
        return CH_ERR_UNSUPPORTED;
    *out_why = system == 0x8101 || system == 0x8102 ? "it is of macOS or iOS"
               : system <= 3                        ? "it is of Windows"
                             : "it is of another system than Linux";
    if (system != SYSTEM_LINUX && system != SYSTEM_ANDROID)
        return CH_ERR_UNSUPPORTED;
    *out_why = "it is of another processor than x86-64 and aarch64";
    dump->machine = processor == CPU_AMD64 ? ELF_X86_64 : ELF_AARCH64;
    return processor == CPU_AMD64 || processor == CPU_ARM64 ||
                   processor == CPU_ARM64_OLD
               ? CH_OK
               : CH_ERR_UNSUPPORTED;
}

static void read_pid(struct minidump *dump)
{
    enum { HAS_PID = 1 };
    struct cursor c = dump->streams[MINIDUMP_MISC];
    cursor_skip(&c, 4);
    uint32_t flags = cursor_u32(&c);
    uint32_t pid = cursor_u32(&c);
    if (cursor_ok(&c) && flags & HAS_PID)
        dump->pid = pid;
}

enum ch_status minidump_open(struct minidump *dump, const void *bytes, size_t size,
                             const char **out_why)
{
    struct cursor c = cursor_over(bytes, size);
    *dump = (struct minidump){ .file = c };
    *out_why = "it is no minidump";
    uint32_t signature = cursor_u32(&c);
    uint32_t version = cursor_u32(&c);
    uint32_t count = cursor_u32(&c);
    uint32_t directory = cursor_u32(&c);
    cursor_skip(&c, 4);
    dump->time = cursor_u32(&c);
    if (!cursor_ok(&c) || signature != SIGNATURE || (version & 0xffff) != VERSION)
        return CH_ERR_MALFORMED;
    c = dump->file;
    cursor_seek(&c, directory);
    for (uint32_t i = 0; i < count && i < DIRECTORY_MAX; i++) {
        enum minidump_stream stream = stream_of(cursor_u32(&c));
        uint32_t length = cursor_u32(&c);
        struct cursor found = at(dump, cursor_u32(&c), length);
        if (!cursor_ok(&c))
            break; // the directory is cut
        if (stream != MINIDUMP_STREAMS && cursor_ok(&found))
            dump->streams[stream] = found;
    }
    read_pid(dump);
    return read_system(dump, out_why);
}

struct minidump_list minidump_list(const struct minidump *dump,
                                   enum minidump_stream stream)
{
    static const uint32_t sizes[MINIDUMP_STREAMS] = {
        [MINIDUMP_THREADS] = THREAD_BYTES,
        [MINIDUMP_MODULES] = MODULE_BYTES,
        [MINIDUMP_MEMORY] = RANGE_BYTES,
    };
    struct minidump_list list = { .dump = dump, .entries = dump->streams[stream] };
    if (stream == MINIDUMP_MEMORY64) {
        list.left = cursor_u64(&list.entries);
        list.offset = cursor_u64(&list.entries);
        return list;
    }
    list.left = cursor_u32(&list.entries);
    // Some writers align the entries to eight bytes.
    if (cursor_left(&list.entries) == 4 + list.left * sizes[stream])
        cursor_skip(&list.entries, 4);
    return list;
}

// take_range reads a MINIDUMP_MEMORY_DESCRIPTOR.
static bool take_range(struct cursor *c, struct minidump_range *out)
{
    out->start = cursor_u64(c);
    out->size = cursor_u32(c);
    out->offset = cursor_u32(c);
    return cursor_ok(c);
}

static bool is_in_file(const struct minidump *dump, const struct minidump_range *range)
{
    struct cursor c = at(dump, range->offset, range->size);
    return range->size != 0 && cursor_ok(&c) &&
           range->start + range->size > range->start;
}

bool minidump_next_range(struct minidump_list *list, struct minidump_range *out)
{
    bool wide = list->entries.begin == list->dump->streams[MINIDUMP_MEMORY64].begin;
    for (; list->left != 0 && cursor_ok(&list->entries); list->left--) {
        if (wide) {
            out->start = cursor_u64(&list->entries);
            out->size = cursor_u64(&list->entries);
            out->offset = list->offset;
            list->offset += out->size;
        } else {
            (void)take_range(&list->entries, out);
        }
        if (!cursor_ok(&list->entries) || !is_in_file(list->dump, out))
            continue;
        list->left--;
        return true;
    }
    return false;
}

// read_machine_context reads a thread's context record into the order of core_notes.h.
static void read_machine_context(const struct minidump *dump, struct cursor c,
                                 struct core_thread *out)
{
    enum {
        AMD64_FLAGS = 68,
        AMD64_RAX = 120,
        ARM64_CPSR = 4,
        ARM64_SP = 31,
        ARM64_PC = 32
    };
    if (dump->machine == ELF_AARCH64) {
        cursor_skip(&c, ARM64_CPSR);
        out->flags = cursor_u32(&c);
        for (size_t i = 0; i <= ARM64_PC; i++)
            out->registers[i] = cursor_u64(&c);
        return;
    }
    cursor_skip(&c, AMD64_FLAGS);
    out->flags = cursor_u32(&c);
    cursor_skip(&c, AMD64_RAX - AMD64_FLAGS - 4);
    for (size_t i = 0; i < sizeof(minidump_amd64); i++)
        out->registers[minidump_amd64[i]] = cursor_u64(&c);
}

bool minidump_next_thread(struct minidump_list *list, struct core_thread *out,
                          struct minidump_range *out_stack)
{
    if (list->left == 0)
        return false;
    list->left--;
    struct cursor *c = &list->entries;
    *out = (struct core_thread){ .call = -1 };
    out->tid = cursor_u32(c);
    cursor_skip(c, 20);
    (void)take_range(c, out_stack);
    uint32_t size = cursor_u32(c);
    uint32_t offset = cursor_u32(c);
    if (!cursor_ok(c))
        return false;
    read_machine_context(list->dump, at(list->dump, offset, size), out);
    if (!is_in_file(list->dump, out_stack))
        out_stack->size = 0;
    return true;
}

// read_string reads a MINIDUMP_STRING, UTF-16 in little endian, as UTF-8.
static void read_string(const struct minidump *dump, uint32_t offset,
                        char out[static MINIDUMP_NAME_MAX])
{
    size_t size = 0;
    struct cursor head = at(dump, offset, 4);
    struct cursor c = at(dump, (uint64_t)offset + 4, cursor_u32(&head));
    while (cursor_left(&c) >= 2 && size + UTF8_MAX_BYTES < MINIDUMP_NAME_MAX) {
        uint32_t character = cursor_u16(&c);
        if (character >= 0xd800 && character < 0xdc00 && cursor_left(&c) >= 2)
            character =
                0x10000 + ((character - 0xd800) << 10) + (cursor_u16(&c) & 0x3ff);
        size += utf8_encode(character, out + size);
    }
    out[size] = 0;
}

// read_build_id reads a module's CodeView record.
static void read_build_id(struct cursor c, struct minidump_module *out)
{
    uint32_t signature = cursor_u32(&c);
    size_t size = signature == CODEVIEW_PDB70 ? 16 : cursor_left(&c);
    if (size > MINIDUMP_BUILD_ID_MAX)
        size = MINIDUMP_BUILD_ID_MAX;
    const uint8_t *bytes = cursor_take(&c, size);
    if (!cursor_ok(&c) || bytes == NULL ||
        (signature != CODEVIEW_ELF && signature != CODEVIEW_PDB70))
        return;
    memcpy(out->build_id, bytes, size);
    out->build_id_size = size;
    out->build_id_cut = signature == CODEVIEW_PDB70;
    // Breakpad reads the build ID's bytes as a GUID, and an ID of zeros is none.
    size_t zeros = 0;
    while (zeros < size && bytes[zeros] == 0)
        zeros++;
    if (zeros == size)
        out->build_id_size = 0;
}

bool minidump_next_module(struct minidump_list *list, struct minidump_module *out)
{
    if (list->left == 0)
        return false;
    list->left--;
    struct cursor *c = &list->entries;
    *out = (struct minidump_module){ .base = cursor_u64(c) };
    out->size = cursor_u32(c);
    cursor_skip(c, 8);
    uint32_t name = cursor_u32(c);
    cursor_skip(c, 52);
    uint32_t size = cursor_u32(c);
    uint32_t offset = cursor_u32(c);
    cursor_skip(c, 24);
    if (!cursor_ok(c))
        return false;
    read_string(list->dump, name, out->name);
    read_build_id(at(list->dump, offset, size), out);
    return true;
}

bool minidump_exception(const struct minidump *dump, struct core_thread *out,
                        struct core_signal *out_signal)
{
    struct cursor c = dump->streams[MINIDUMP_EXCEPTION];
    *out = (struct core_thread){ .call = -1 };
    out->tid = cursor_u32(&c);
    cursor_skip(&c, 4);
    uint32_t signal = cursor_u32(&c);
    uint32_t code = cursor_u32(&c);
    cursor_skip(&c, 8);
    uint64_t address = cursor_u64(&c);
    cursor_skip(&c, 8 + 15 * 8);
    uint32_t size = cursor_u32(&c);
    uint32_t offset = cursor_u32(&c);
    if (!cursor_ok(&c) || signal == NOT_REQUESTED || signal == 0 || signal > 64)
        return false;
    *out_signal = (struct core_signal){ .signal = (int32_t)signal,
                                        .code = (int32_t)code,
                                        .address = address };
    out->signal = (int32_t)signal;
    read_machine_context(dump, at(dump, offset, size), out);
    return true;
}

// at_location gives what a MINIDUMP_LOCATION_DESCRIPTOR refers to.
static struct cursor at_location(const struct minidump *dump, struct cursor *c)
{
    uint32_t size = cursor_u32(c);
    uint32_t offset = cursor_u32(c);
    return at(dump, offset, cursor_ok(c) ? size : UINT64_MAX);
}

// read_bytes_string reads a string with its length in front.
static bool read_bytes_string(const struct minidump *dump, uint32_t offset,
                              char out[static MINIDUMP_NAME_MAX])
{
    struct cursor head = at(dump, offset, 4);
    struct cursor c = at(dump, (uint64_t)offset + 4, cursor_u32(&head));
    size_t size = cursor_left(&c);
    if (!cursor_ok(&c) || size == 0)
        return false;
    const char *bytes = (const char *)cursor_take(&c, size);
    size = strnlen(bytes, size);
    if (size >= MINIDUMP_NAME_MAX)
        size = utf8_cut(bytes, size, MINIDUMP_NAME_MAX - 1);
    memcpy(out, bytes, size);
    out[size] = 0;
    utf8_repair(out, size);
    return size != 0;
}

// An annotation_reader passes on annotations, ANNOTATIONS_MAX in all.
struct annotation_reader {
    const struct minidump *dump;
    minidump_annotation_fn *take;
    void *context;
    unsigned left;
};

// take_annotations passes on a list: pairs of strings, or objects, which also have a
// type.
static void take_annotations(struct annotation_reader *reader, struct cursor list,
                             bool objects)
{
    enum { TYPE_STRING = 1 };
    char name[MINIDUMP_NAME_MAX];
    char value[MINIDUMP_NAME_MAX];
    for (uint32_t count = cursor_u32(&list); count != 0 && reader->left != 0; count--) {
        uint32_t name_at = cursor_u32(&list);
        uint32_t type = objects ? cursor_u32(&list) & 0xffff : TYPE_STRING;
        uint32_t value_at = cursor_u32(&list);
        if (!cursor_ok(&list))
            return;
        reader->left--;
        if (type == TYPE_STRING && read_bytes_string(reader->dump, name_at, name) &&
            read_bytes_string(reader->dump, value_at, value))
            reader->take(reader->context, name, value);
    }
}

void minidump_annotations(const struct minidump *dump, minidump_annotation_fn *take,
                          void *context)
{
    enum { HEAD = 36, VERSION_AND_LIST = 12 }; // before the locations
    struct annotation_reader reader = { dump, take, context, ANNOTATIONS_MAX };
    struct cursor c = dump->streams[MINIDUMP_CRASHPAD];
    cursor_skip(&c, HEAD);
    take_annotations(&reader, at_location(dump, &c), false);
    struct cursor modules = at_location(dump, &c);
    for (uint32_t count = cursor_u32(&modules); count != 0; count--) {
        cursor_skip(&modules, 4); // which module
        struct cursor module = at_location(dump, &modules);
        if (!cursor_ok(&modules))
            return;
        cursor_skip(&module, VERSION_AND_LIST);
        take_annotations(&reader, at_location(dump, &module), false);
        take_annotations(&reader, at_location(dump, &module), true);
    }
}
