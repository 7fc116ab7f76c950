// SPDX-License-Identifier: Apache-2.0
#include "agent/raw/origins.h"

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "agent/facts/origin_heap.h"
#include "agent/facts/raw_write.h"
#include "agent/live/capture.h"
#include "agent/raw/raw_threads.h"
#include "base/system/file.h"
#include "formats/debug/maps.h"

// Offsets in glibc's description of an image, whose beginning is the same in all
// versions: where it is itself, and the name that it was opened by.
// Its bounds (start, end) stand together further on. The name follows
// a node of a list, in the same memory, of which malloc overwrites the last word once
// it is freed.
enum {
    REAL = 40,
    LIBNAME = 56,
    BOUNDS_FIRST = 64,
    DESCRIPTION_MAX = 4096,
    LIBNAME_BYTES = 24,
    PAGE_BYTES = 4096,
    PIECE_PAGES = 4, // read at once
    WORD = 8,
    HEAD_BYTES = 16,       // of a piece of memory
    LINKS_BYTES = 16,      // of a freed piece, that malloc overwrites at its beginning
    NODE_LINKS_BYTES = 32, // at most, as in a tree
    PATH_BEFORE = 256,
    NAME_PATH_MAX = 512,
};
#define IMAGE_MAX (UINT64_C(1) << 32)

// has_bounds returns true if the description of so many bytes has the bounds of an
// image around address, of which nothing is mapped.
static bool has_bounds(const struct capture *capture, uint64_t description,
                       uint64_t size, uint64_t address)
{
    uint64_t words[DESCRIPTION_MAX / WORD];
    if (memory_read(&capture->reader, description, words, (size_t)size) != CH_OK)
        return false;
    for (size_t i = BOUNDS_FIRST / WORD; i + 1 < size / WORD; i++) {
        uint64_t start = words[i];
        uint64_t end = words[i + 1];
        if (start % PAGE_BYTES == 0 && start <= address && address < end &&
            end - start < IMAGE_MAX && images_mapping(&capture->images, start) == NULL)
            return true;
    }
    return false;
}

// is_image_name returns true if it is a name as files of libraries have.
static bool is_image_name(const char *name)
{
    size_t size = strlen(name);
    for (size_t i = 0; i < size; i++)
        if ((unsigned char)name[i] <= ' ' || (unsigned char)name[i] >= 0x7f)
            return false;
    return size != 0 && size < ORIGIN_IMAGE_NAME_BYTES;
}

// footer_of is where malloc has put the size of a freed piece, in its last word.
static uint64_t footer_of(const struct capture *capture, uint64_t piece)
{
    uint64_t size = 0;
    (void)!memory_read_word(&capture->reader, piece - WORD, &size);
    return piece - HEAD_BYTES + (size & ~UINT64_C(7));
}

// complete_name finds the rest of a name that was cut: the path that the library was
// found at was allocated right before its description. So many of the name's first
// characters may be overwritten there, as that piece is freed too.
static void complete_name(const struct capture *capture, uint64_t description,
                          size_t overwritten, char out[static ORIGIN_IMAGE_NAME_BYTES])
{
    char before[PATH_BEFORE + 1] = "";
    size_t size = strlen(out);
    if (memory_read(&capture->reader, description - HEAD_BYTES - PATH_BEFORE, before,
                    PATH_BEFORE) != CH_OK)
        return;
    for (size_t i = PATH_BEFORE; i-- > 1;) {
        bool whole = before[i - 1] == '/';
        size_t skipped = whole ? 0 : overwritten;
        const char *name = before + i;
        bool begins = whole || i % LINKS_BYTES == 0;
        if (!begins || size <= skipped ||
            strncmp(name, out + skipped, size - skipped) != 0 || !is_image_name(name) ||
            skipped + strlen(name) >= ORIGIN_IMAGE_NAME_BYTES)
            continue;
        memcpy(out + skipped, name, strlen(name) + 1);
        return;
    }
    if (size + sizeof("...") <= ORIGIN_IMAGE_NAME_BYTES)
        memcpy(out + size, "...", sizeof("..."));
}

// read_image_name reads the name at its node. False: it has none.
static bool read_image_name(const struct capture *capture, uint64_t description,
                            uint64_t libname, char out[static ORIGIN_IMAGE_NAME_BYTES])
{
    char path[NAME_PATH_MAX];
    uint64_t name;
    uint64_t footer = footer_of(capture, description);
    if (memory_read_word(&capture->reader, libname, &name) != CH_OK ||
        name != libname + LIBNAME_BYTES ||
        memory_read_string(&capture->reader, name, path, sizeof(path)) != CH_OK)
        return false;
    bool cut = footer > name && footer - name <= strlen(path);
    if (cut)
        path[footer - name] = 0;
    const char *last = file_name(path);
    if (last == NULL || !is_image_name(last))
        return false;
    memcpy(out, last, strlen(last) + 1);
    size_t at = (size_t)(last - path);
    if (cut)
        complete_name(capture, description, at < LINKS_BYTES ? LINKS_BYTES - at : 0,
                      out);
    return true;
}

static bool is_image_at(const struct capture *capture, uint64_t description,
                        uint64_t address, char out[static ORIGIN_IMAGE_NAME_BYTES])
{
    uint64_t libname;
    return memory_read_word(&capture->reader, description + LIBNAME, &libname) ==
               CH_OK &&
           libname > description + BOUNDS_FIRST &&
           libname - description < DESCRIPTION_MAX && libname % WORD == 0 &&
           has_bounds(capture, description, libname - description, address) &&
           read_image_name(capture, description, libname, out);
}

// find_image_in looks at the words of some pages for a description's pointer to itself.
static bool find_image_in(const struct capture *capture, uint64_t page, uint64_t size,
                          uint64_t address, char out[static ORIGIN_IMAGE_NAME_BYTES])
{
    uint64_t words[PIECE_PAGES * PAGE_BYTES / WORD];
    if (memory_read(&capture->reader, page, words, (size_t)size) != CH_OK)
        return false;
    for (size_t i = 0; i < size / WORD; i++) {
        uint64_t at = page + i * WORD;
        if (words[i] == at - REAL && is_image_at(capture, at - REAL, address, out))
            return true;
    }
    return false;
}

// origin_image_find finds the name that the library was opened by which had address,
// where nothing is mapped now, in at most ORIGIN_IMAGE_PAGES of the heaps.
enum { ORIGIN_IMAGE_PAGES = 512 };
static bool origin_image_find(const struct capture *capture, uint64_t address,
                              char out[static ORIGIN_IMAGE_NAME_BYTES])
{
    size_t pages_left = ORIGIN_IMAGE_PAGES;
    for (size_t i = 0; i < capture->images.mapping_count; i++) {
        const struct target_mapping *heap = &capture->images.mappings[i];
        if (!origin_heap_is_heap(heap))
            continue;
        uint64_t page = heap->start;
        while (page < heap->end && pages_left >= PIECE_PAGES) {
            uint64_t left = heap->end - page;
            uint64_t most = PIECE_PAGES * PAGE_BYTES;
            uint64_t size = left < most ? left : most;
            if (find_image_in(capture, page, size, address, out))
                return true;
            page += size;
            pages_left -= PIECE_PAGES;
        }
    }
    return false;
}

enum {
    NULL_AREA_BYTES = 65536,
    GUARD_LARGEST = 65536,
    STACK_WORDS = 64,   // of the stack's, in which a whole pointer is looked for
    FIRST_FLIPPED = 36, // lower bits differ between neighbours
    TEXT_SHORTEST = 7,  // shorter texts are like addresses of user space
    HALVES_MAX = 16384, // upper halves of addresses: of 64 TiB of mappings
};

// A seeker is the value that is examined, and where.
struct seeker {
    const struct capture *capture;
    const uint64_t *registers;
    size_t number; // of the register
    uint64_t value;
    uint64_t stack[STACK_WORDS];
    size_t stack_count;
};

static bool is_mapped(const struct seeker *s, uint64_t address)
{
    return images_mapping(&s->capture->images, address) != NULL;
}

// fill_of names what fills memory with the bytes of value.
static bool fill_of(uint64_t value, const char **out)
{
    static const struct {
        uint64_t value;
        const char *filler; // NULL: many do
    } fills[] = {
        { UINT64_C(0x5a5a5a5a5a5a5a5a), "jemalloc, freed memory" },
        { UINT64_C(0xa5a5a5a5a5a5a5a5), "jemalloc, new memory" },
        { UINT64_C(0xcdcdcdcdcdcdcdcd), "tcmalloc's debug form, freed memory" },
        { UINT64_C(0xabababababababab), "tcmalloc's debug form, new memory" },
        { UINT64_C(0xdfdfdfdfdfdfdfdf), "mimalloc's debug form, freed memory" },
        { UINT64_C(0xd0d0d0d0d0d0d0d0), "mimalloc's debug form, new memory" },
        { UINT64_C(0xbebebebebebebebe), "AddressSanitizer, new memory" },
        { UINT64_C(0xaaaaaaaaaaaaaaaa), "clang, variables without a value" },
        { UINT64_C(0xfefefefefefefefe), "gcc, variables without a value" },
        { UINT64_C(0x6b6b6b6b6b6b6b6b), NULL },
        { UINT64_C(0xdddddddddddddddd), NULL },
        { UINT64_C(0xcccccccccccccccc), NULL },
        { UINT64_C(0xfdfdfdfdfdfdfdfd), NULL },
        { UINT64_C(0xdeadbeefdeadbeef), NULL },
        { UINT64_C(0x00000000deadbeef), NULL },
        { UINT64_C(0xfeeefeeefeeefeee), NULL },
        { UINT64_C(0xbaadf00dbaadf00d), NULL },
        { UINT64_C(0xcafebabecafebabe), NULL },
        { UINT64_C(0xdeadc0dedeadc0de), NULL },
    };
    for (size_t i = 0; i < sizeof(fills) / sizeof(fills[0]); i++) {
        if (fills[i].value != value)
            continue;
        *out = fills[i].filler;
        return true;
    }
    return false;
}

static bool seek_failed_map(const struct seeker *s, struct origin *out)
{
    out->kind = "map-failed";
    return s->value == UINT64_MAX;
}

static bool seek_fill(const struct seeker *s, struct origin *out)
{
    out->kind = "fill";
    return fill_of(s->value, &out->filler);
}

enum text_class { TEXT_NONE, TEXT_LOWER, TEXT_UPPER, TEXT_DIGIT, TEXT_BETWEEN };

static enum text_class text_class_of(uint8_t byte)
{
    if (byte >= 'a' && byte <= 'z')
        return TEXT_LOWER;
    if (byte >= 'A' && byte <= 'Z')
        return TEXT_UPPER;
    if (byte >= '0' && byte <= '9')
        return TEXT_DIGIT;
    return byte != 0 && strchr(" _./:-=,", byte) != NULL ? TEXT_BETWEEN : TEXT_NONE;
}

// is_like_words returns true if characters are combined as they are in texts: letters
// of one case, of which a word's first may be a capital, or digits. One in ten million
// random values is like that.
static bool is_like_words(const char *text, size_t size)
{
    enum text_class before = TEXT_BETWEEN;
    enum text_class all = TEXT_BETWEEN;
    for (size_t i = 0; i < size; i++) {
        enum text_class class = text_class_of((uint8_t)text[i]);
        bool capital = class == TEXT_UPPER && before == TEXT_BETWEEN && i + 1 < size &&
                       text_class_of((uint8_t)text[i + 1]) == TEXT_LOWER;
        before = class;
        if (capital || class == TEXT_BETWEEN)
            continue;
        if (all != TEXT_BETWEEN && class != all)
            return false;
        all = class;
    }
    return all != TEXT_BETWEEN;
}

// is_varied returns true if the characters are no pattern: four different ones, or the
// one that people fill buffers with.
static bool is_varied(const char *text, size_t size)
{
    enum { DIFFERENT = 4 };
    size_t different = 0;
    for (size_t i = 0; i < size; i++)
        different += memchr(text, text[i], i) == NULL;
    return different >= DIFFERENT || (different == 1 && text[0] == 'A');
}

// seek_text recognizes eight characters, or seven and the end of a text. No address is
// like that, as the processor allows none with so many bytes.
static bool seek_text(const struct seeker *s, struct origin *out)
{
    size_t size = 0;
    out->kind = "text";
    while (size < sizeof(s->value) &&
           text_class_of((uint8_t)(s->value >> (8 * size))) != TEXT_NONE)
        size++;
    memcpy(out->text, &s->value, size);
    out->text[size] = 0;
    return size >= TEXT_SHORTEST &&
           (size == sizeof(s->value) || s->value >> (8 * size) == 0) &&
           is_varied(out->text, size) && is_like_words(out->text, size);
}

// seek_signed recognizes what an instruction of AArch64 makes of a signed pointer that
// it does not accept: in the place of the signature is a number of the key, and without
// it the pointer leads to memory.
static bool seek_signed(const struct seeker *s, struct origin *out)
{
    enum { ADDRESS_BITS = 48, MASK = 0xff, KEY_A = 0x20, KEY_B = 0x40 };
    unsigned code = s->value >> ADDRESS_BITS & MASK;
    out->kind = "failed-signature";
    out->address = unwind_arch_address(s->capture->arch, s->value);
    return s->capture->arch->id == UNWIND_ARCH_AARCH64 &&
           (code == KEY_A || code == KEY_B) && is_mapped(s, out->address);
}

// seek_freed recognizes what malloc put into freed memory, or the value after the links
// of a container's node that was taken to be there.
static bool seek_freed(const struct seeker *s, struct origin *out)
{
    out->kind = "freed-chunk";
    for (out->offset = 0; out->offset <= NODE_LINKS_BYTES; out->offset += WORD)
        if (origin_heap_find_link(s->capture, s->value - out->offset, &out->address,
                                  &out->next))
            return true;
    out->offset = 0;
    return false;
}

// find_holder returns what confirms that the program has the pointer: another register,
// the stack, or that a piece of memory in use begins there.
static const char *find_holder(const struct seeker *s, uint64_t pointer)
{
    for (size_t i = 0; i < s->capture->arch->register_count; i++)
        if (i != s->number && i != s->capture->arch->pc && s->registers[i] == pointer)
            return raw_register_name(s->capture, i);
    for (size_t i = 0; i < s->stack_count; i++)
        if (s->stack[i] == pointer)
            return "stack";
    return origin_heap_is_piece(s->capture, pointer) ? "malloc" : NULL;
}

// seek_cut recognizes the lower half of a pointer, extended by zeros or by its sign, if
// exactly one upper half makes it a pointer that the program has. A file may claim
// mappings of any size, so only so many halves are tried; with more nothing is sure.
static bool seek_cut(const struct seeker *s, struct origin *out)
{
    uint32_t low = (uint32_t)s->value;
    uint64_t before = 0;
    size_t found = 0;
    size_t tried = 0;
    out->kind = "truncated";
    if (low < NULL_AREA_BYTES ||
        (s->value != low && s->value != (uint64_t)(int64_t)(int32_t)low))
        return false;
    for (size_t i = 0; i < s->capture->images.mapping_count; i++) {
        const struct target_mapping *mapping = &s->capture->images.mappings[i];
        for (uint64_t half = mapping->start >> 32;
             half <= (mapping->end - 1) >> 32 && half != 0; half++) {
            uint64_t pointer = half << 32 | low;
            const char *holder;
            if (++tried > HALVES_MAX)
                return false;
            if (half == before || half == UINT32_MAX || !is_mapped(s, pointer))
                continue;
            before = half;
            holder = find_holder(s, pointer);
            if (holder == NULL)
                continue;
            found++;
            out->address = pointer;
            out->holder = holder;
        }
    }
    return found == 1;
}

static bool seek_flip(const struct seeker *s, struct origin *out)
{
    size_t found = 0;
    out->kind = "bit-flip";
    for (unsigned bit = FIRST_FLIPPED; bit < 64; bit++) {
        uint64_t pointer = s->value ^ UINT64_C(1) << bit;
        const char *holder = is_mapped(s, pointer) ? find_holder(s, pointer) : NULL;
        if (holder == NULL)
            continue;
        found++;
        out->address = pointer;
        out->bit = bit;
        out->holder = holder;
    }
    return found == 1;
}

static void seek_origin(const struct seeker *s, const char *name, struct origins *out)
{
    static bool (*const ways[])(const struct seeker *, struct origin *) = {
        seek_failed_map, seek_fill, seek_text, seek_signed,
        seek_freed,      seek_cut,  seek_flip
    };
    // The link of a low heap's last freed piece is the number of its page.
    bool small = s->value < NULL_AREA_BYTES && !is_mapped(s, s->value * PAGE_BYTES) &&
                 !is_mapped(s, (s->value - NODE_LINKS_BYTES) * PAGE_BYTES);
    if (small || is_mapped(s, s->value) || out->count == ORIGINS_MAX)
        return;
    for (size_t i = 0; i < sizeof(ways) / sizeof(ways[0]); i++) {
        struct origin found = {
            .register_name = name,
            .value = s->value,
        };
        if (!ways[i](s, &found))
            continue;
        out->list[out->count++] = found;
        return;
    }
}

// thread_above is the thread whose stack begins where the guard ends.
static pid_t thread_above(const struct capture *capture, uint64_t start)
{
    const struct target_mapping *stack = images_mapping(&capture->images, start);
    const struct target_crash *crash = capture->crash;
    size_t sp = capture->arch->sp;
    if (stack == NULL || stack->start != start || !(stack->permissions & MAPS_WRITE))
        return 0;
    if (images_mapping(&capture->images, crash->registers.value[sp]) == stack)
        return crash->tid;
    for (size_t i = 0; i < capture->stop.count; i++) {
        const struct stopped_thread *thread = &capture->stop.threads[i];
        if (thread->state == STOP_STOPPED &&
            images_mapping(&capture->images, thread->registers.value[sp]) == stack)
            return thread->tid;
    }
    return 0;
}

// seek_guard recognizes the address of the fault as one in a thread's guard page, which
// is before its stack. The kernel joins guards with inaccessible memory before them, so
// only the page at the stack is one for certain.
static void seek_guard(const struct capture *capture, uint64_t address,
                       struct origins *out)
{
    const struct target_mapping *guard = images_mapping(&capture->images, address);
    unsigned any = MAPS_READ | MAPS_WRITE | MAPS_EXECUTE;
    if (guard == NULL || guard->permissions & any || guard->path_size != 0 ||
        out->count == ORIGINS_MAX ||
        (guard->end - address > PAGE_BYTES &&
         guard->end - guard->start > GUARD_LARGEST))
        return;
    pid_t thread = thread_above(capture, guard->end);
    if (thread != 0)
        out->list[out->count++] = (struct origin){ .value = address,
                                                   .kind = "guard-page",
                                                   .address = guard->start,
                                                   .thread = thread };
}

// seek_bin recognizes what was jumped to as the head of a list of freed pieces, to
// which the last of these is linked: its memory was used as if it held code's address.
static void seek_bin(const struct seeker *s, struct origins *out)
{
    struct origin found = { .register_name = raw_register_name(s->capture, s->number),
                            .value = s->value,
                            .kind = "freed-chunk" };
    if (s->value != s->registers[s->capture->arch->pc] || out->count == ORIGINS_MAX ||
        !is_mapped(s, s->value) ||
        !origin_heap_find_bin(s->capture, s->value, &found.address))
        return;
    out->list[out->count++] = found;
}

// read_top_of_stack reads the words from sp on; a reader may stop at the end of a page.
static size_t read_top_of_stack(const struct memory_reader *reader, uint64_t sp,
                                uint64_t out[static STACK_WORDS])
{
    size_t size = 0;
    size_t got = 1;
    while (size < STACK_WORDS * sizeof(*out) && got != 0) {
        got = reader->read(reader->source, sp + size, (uint8_t *)out + size,
                           STACK_WORDS * sizeof(*out) - size);
        size += got;
    }
    return size / sizeof(*out);
}

void origins_find(const struct capture *capture, uint64_t fault_address,
                  struct origins *out)
{
    struct seeker s = { .capture = capture,
                        .registers = capture->crash->registers.value };
    const struct memory_reader *reader = &capture->reader;
    out->count = 0;
    if (capture->narrow || reader->read == NULL)
        return;
    s.stack_count = read_top_of_stack(reader, s.registers[capture->arch->sp], s.stack);
    for (size_t i = 0; i < capture->arch->register_count; i++) {
        if (i == capture->arch->sp)
            continue;
        s.number = i;
        s.value = s.registers[i];
        seek_origin(&s, raw_register_name(capture, i), out);
        seek_bin(&s, out);
    }
    s.number = capture->arch->pc;
    s.value = s.stack_count != 0 ? s.stack[0] : 0;
    if (capture->arch->link == UNWIND_NO_LINK)
        seek_origin(&s, "return", out);
    seek_guard(capture, fault_address, out);
}

void origins_find_unloaded(const struct capture *capture, uint64_t fault_address,
                           struct origins *out)
{
    struct origin found = { .value = fault_address, .kind = "unloaded-image" };
    if (capture->narrow || out->count == ORIGINS_MAX ||
        images_mapping(&capture->images, fault_address) != NULL ||
        !origin_image_find(capture, fault_address, found.image))
        return;
    out->list[out->count++] = found;
}

static void write_origin(struct json_writer *w, const struct capture *capture,
                         const struct origin *origin)
{
    json_write_object(w);
    raw_write_string(w, "kind", origin->kind);
    raw_write_string(w, "register", origin->register_name);
    raw_write_address(w, "value", origin->value);
    if (strcmp(origin->kind, "text") == 0)
        raw_write_words(w, capture, "text", origin->text);
    raw_write_string(w, "filler", origin->filler);
    if (origin->address != 0)
        raw_write_address(w, "address", origin->address);
    if (origin->next != 0)
        raw_write_address(w, "next", origin->next);
    if (origin->offset != 0)
        raw_write_count(w, "offset", origin->offset);
    raw_write_string(w, "holder", origin->holder);
    if (origin->image[0] != 0)
        raw_write_words(w, capture, "image", origin->image);
    if (strcmp(origin->kind, "bit-flip") == 0)
        raw_write_count(w, "bit", origin->bit);
    if (origin->thread != 0)
        raw_write_count(w, "thread", (uint64_t)origin->thread);
    json_write_end(w, '}');
}

void origins_write(struct json_writer *w, const struct capture *capture,
                   const struct origins *origins)
{
    if (origins->count == 0)
        return;
    json_write_key(w, "suspects");
    json_write_array(w);
    for (size_t i = 0; i < origins->count; i++)
        write_origin(w, capture, &origins->list[i]);
    json_write_end(w, ']');
}
