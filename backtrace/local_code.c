// SPDX-License-Identifier: Apache-2.0
#include "backtrace/local_code.h"

#include <elf.h>
#include <errno.h>
#include <stdatomic.h>
#include <stddef.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "formats/debug/cfi.h"
#include "formats/debug/elf.h"
#include "formats/debug/sframe.h"
#include "shared/dl_find_object.h"
#include "unwind/unwind_types.h"

enum {
    TABLE_IMAGES = 512,      // where the C library cannot find images itself
    TABLE_TRIES = 8,         // while another thread is writing the table
    SCANNED_ENTRIES = 65536, // of an image whose rules have no search table
    STAMP_NOTE_BYTES = 256,
    PAGE_BYTES = 4096,
};

// The images for a C library without that search. sequence is odd while the table is
// being written, so that a reader that was interrupted or overtaken tries again.
static struct {
    atomic_uint sequence;
    atomic_flag writing;
    size_t count;
    struct local_image images[TABLE_IMAGES];
} code_table = { .writing = ATOMIC_FLAG_INIT };

static atomic_bool any_sframe;

static bool find_in_table(uint64_t address, struct local_image *out)
{
    for (int i = 0; i < TABLE_TRIES; i++) {
        unsigned before =
            atomic_load_explicit(&code_table.sequence, memory_order_acquire);
        bool found = false;
        for (size_t at = 0; at < code_table.count && at < TABLE_IMAGES && !found;
             at++) {
            *out = code_table.images[at];
            found = address >= out->start && address < out->end;
        }
        atomic_thread_fence(memory_order_acquire);
        if (before % 2 == 0 &&
            before == atomic_load_explicit(&code_table.sequence, memory_order_relaxed))
            return found;
    }
    return false;
}

bool local_code_image(uint64_t address, struct local_image *out)
{
    struct dl_find_object found;
    if (_dl_find_object == NULL)
        return find_in_table(address, out);
    if (_dl_find_object((void *)(uintptr_t)address, &found) != 0)
        return false;
    *out = (struct local_image){ .start = (uintptr_t)found.dlfo_map_start,
                                 .end = (uintptr_t)found.dlfo_map_end,
                                 .eh_frame_hdr = (uintptr_t)found.dlfo_eh_frame,
                                 .map = found.dlfo_link_map };
    return true;
}

void local_code_describe(const struct dl_phdr_info *info, struct local_image *out)
{
    const uint64_t page = -(uint64_t)PAGE_BYTES;
    *out = (struct local_image){ .start = UINT64_MAX };
    for (size_t i = 0; i < info->dlpi_phnum; i++) {
        const Elf64_Phdr *segment = &info->dlpi_phdr[i];
        uint64_t begin = info->dlpi_addr + segment->p_vaddr;
        uint64_t end = (begin + segment->p_memsz + PAGE_BYTES - 1) & page;
        if (segment->p_type == PT_LOAD && (begin & page) < out->start)
            out->start = begin & page;
        if (segment->p_type == PT_LOAD && end > out->end)
            out->end = end;
        if (segment->p_type == PT_GNU_EH_FRAME)
            out->eh_frame_hdr = begin;
        if (segment->p_type == ELF_PT_GNU_SFRAME)
            atomic_store_explicit(&any_sframe, true, memory_order_relaxed);
    }
}

void local_code_publish(const struct local_image *images, size_t count)
{
    if (_dl_find_object != NULL || atomic_flag_test_and_set(&code_table.writing))
        return;
    atomic_fetch_add(&code_table.sequence, 1);
    code_table.count = count < TABLE_IMAGES ? count : TABLE_IMAGES;
    memcpy(code_table.images, images, code_table.count * sizeof(*images));
    atomic_fetch_add(&code_table.sequence, 1);
    atomic_flag_clear(&code_table.writing);
}

bool local_code_any_sframe(void)
{
    return atomic_load_explicit(&any_sframe, memory_order_relaxed);
}

// local_image_bytes gives a cursor over the image from address on.
static struct cursor local_image_bytes(const struct local_image *image,
                                       uint64_t address)
{
    size_t size = address >= image->start && address < image->end
                      ? (size_t)(image->end - address)
                      : 0;
    return cursor_over((const void *)(uintptr_t)address, size);
}

const Elf64_Phdr *local_code_segments(const struct local_image *image, size_t *count)
{
    const Elf64_Ehdr *header = (const void *)(uintptr_t)image->start;
    // A vDSO may be smaller than a page.
    uint64_t size = image->end - image->start;
    uint64_t room = size < PAGE_BYTES ? size : PAGE_BYTES;
    *count = 0;
    if (size < sizeof(*header) || memcmp(header->e_ident, ELFMAG, SELFMAG) != 0 ||
        header->e_phentsize != sizeof(Elf64_Phdr) || header->e_phoff > room ||
        header->e_phnum * sizeof(Elf64_Phdr) > room - header->e_phoff)
        return NULL;
    *count = header->e_phnum;
    return (const void *)(uintptr_t)(image->start + header->e_phoff);
}

// find_segment gives the first program header of the type, or NULL.
static const Elf64_Phdr *find_segment(const struct local_image *image, uint32_t type)
{
    size_t count;
    const Elf64_Phdr *segments = local_code_segments(image, &count);
    for (size_t i = 0; i < count; i++)
        if (segments[i].p_type == type)
            return &segments[i];
    return NULL;
}

// image_bias is address - vaddr.
static uint64_t image_bias(const struct local_image *image)
{
    const Elf64_Phdr *first = find_segment(image, PT_LOAD);
    return first != NULL ? image->start - (first->p_vaddr & -(uint64_t)PAGE_BYTES) : 0;
}

bool local_code_segment(const struct local_image *image, uint64_t address,
                        bool executable, uint64_t *low, uint64_t *high)
{
    size_t count;
    const Elf64_Phdr *segments = local_code_segments(image, &count);
    uint64_t bias = image_bias(image);
    for (size_t i = 0; i < count; i++) {
        *low = bias + segments[i].p_vaddr;
        *high = *low + segments[i].p_memsz;
        if (segments[i].p_type == PT_LOAD && address >= *low && address < *high)
            return !executable || segments[i].p_flags & PF_X;
    }
    return false;
}

bool local_code_is_lasting(const struct local_image *image)
{
    // The program's headers, this library, and the C library.
    const uint64_t lasting[] = { getauxval(AT_PHDR), (uintptr_t)&code_table,
                                 (uintptr_t)getauxval };
    for (size_t i = 0; i < sizeof(lasting) / sizeof(lasting[0]); i++)
        if (lasting[i] >= image->start && lasting[i] < image->end)
            return true;
    return false;
}

static uint64_t stamp_bytes(uint64_t stamp, const void *bytes, size_t size)
{
    const uint64_t multiplier = UINT64_C(0x9e3779b97f4a7c15);
    struct cursor c = cursor_over(bytes, size);
    while (cursor_left(&c) >= sizeof(uint64_t))
        stamp = (stamp ^ cursor_u64(&c)) * multiplier;
    return stamp ^ stamp >> 32;
}

// find_loaded_id finds the build ID, where it is with the headers in the first segment.
static enum ch_status find_loaded_id(const struct local_image *image,
                                     const Elf64_Phdr *segments, size_t count,
                                     const uint8_t **id, size_t *size)
{
    uint64_t first_bytes = 0;
    for (size_t i = 0; i < count; i++) {
        const Elf64_Phdr *at = &segments[i];
        if (at->p_type == PT_LOAD && first_bytes == 0)
            first_bytes = at->p_filesz;
        if (at->p_type != PT_NOTE || at->p_filesz > STAMP_NOTE_BYTES ||
            at->p_offset + at->p_filesz > first_bytes)
            continue;
        struct cursor notes = cursor_over(
            (const void *)(uintptr_t)(image->start + at->p_offset), at->p_filesz);
        if (elf_find_build_id(notes, at->p_align, id, size) == CH_OK)
            return CH_OK;
    }
    return CH_ERR_NOT_FOUND;
}

uint64_t local_code_stamp(const struct local_image *image)
{
    size_t count;
    size_t size;
    const uint8_t *id;
    const Elf64_Phdr *segments = local_code_segments(image, &count);
    uint64_t stamp = stamp_bytes(image->end, &image->eh_frame_hdr, sizeof(uint64_t));
    if (segments == NULL)
        return stamp;
    if (find_loaded_id(image, segments, count, &id, &size) == CH_OK)
        return stamp_bytes(stamp, id, size);
    stamp =
        stamp_bytes(stamp, (const void *)(uintptr_t)image->start, sizeof(Elf64_Ehdr));
    return stamp_bytes(stamp, segments, count * sizeof(*segments));
}

static enum ch_status find_sframe_rules(const struct local_image *image, uint64_t pc,
                                        struct unwind_row *out)
{
    const Elf64_Phdr *segment =
        local_code_any_sframe() ? find_segment(image, ELF_PT_GNU_SFRAME) : NULL;
    struct sframe_section section;
    if (segment == NULL)
        return CH_ERR_NOT_FOUND;
    uint64_t address = image_bias(image) + segment->p_vaddr;
    struct cursor bytes = local_image_bytes(image, address);
    if (sframe_section_init(&section, bytes.at, cursor_left(&bytes), address) !=
            CH_OK ||
        !sframe_section_usable(&section) || section.bytes.big_endian)
        return CH_ERR_NOT_FOUND;
    return sframe_lookup(&section, pc, out) == CH_OK ? CH_OK : CH_ERR_NOT_FOUND;
}

// A rule_search is a search in one image's .eh_frame.
struct rule_search {
    const struct local_image *image;
    struct cfi_section section;
    struct cfi_header header;
    struct cfi_cie cie;
    struct cfi_fde fde;
};

// read_entry reads the FDE at address, and its CIE.
static enum ch_status read_entry(struct rule_search *search, uint64_t address)
{
    struct cfi_entry entry;
    struct cfi_entry cie;
    struct cursor bytes = local_image_bytes(search->image, address);
    enum ch_status status = cfi_next_entry(&search->section, &bytes, address, &entry);
    if (status != CH_OK || entry.is_cie)
        return CH_ERR_NOT_FOUND;
    bytes = local_image_bytes(search->image, entry.cie);
    status = cfi_next_entry(&search->section, &bytes, entry.cie, &cie);
    if (status == CH_OK)
        status = cfi_read_cie(&search->section, &cie, &search->cie);
    if (status == CH_OK)
        status = cfi_read_fde(&search->section, &entry, &search->cie, &search->fde);
    return status;
}

// local_search_table finds the FDE of pc by the image's search table.
static enum ch_status local_search_table(struct rule_search *search, uint64_t pc)
{
    const struct cfi_header *header = &search->header;
    struct cfi_header_entry entry = { 0 };
    uint64_t fde = 0;
    uint64_t low = 0;
    uint64_t high = header->count;
    while (low < high) {
        uint64_t middle = low + (high - low) / 2;
        uint64_t address = header->table + middle * header->entry_size;
        if (cfi_read_header_entry(header, local_image_bytes(search->image, address),
                                  address, &entry) != CH_OK)
            return CH_ERR_NOT_FOUND;
        if (entry.start <= pc) {
            fde = entry.fde;
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low != 0 ? read_entry(search, fde) : CH_ERR_NOT_FOUND;
}

// scan_section finds the FDE of pc in a section that has no search table.
static enum ch_status scan_section(struct rule_search *search, uint64_t pc)
{
    struct cfi_entry entry;
    uint64_t address = search->header.eh_frame;
    struct cursor bytes = local_image_bytes(search->image, address);
    for (size_t i = 0; i < SCANNED_ENTRIES; i++) {
        uint64_t at = address + cursor_offset(&bytes);
        if (cfi_next_entry(&search->section, &bytes, at, &entry) != CH_OK)
            break;
        if (!entry.is_cie && read_entry(search, at) == CH_OK &&
            pc >= search->fde.start && pc < search->fde.end)
            return CH_OK;
    }
    return CH_ERR_NOT_FOUND;
}

// local_find_fde finds the FDE of pc in image.
static enum ch_status local_find_fde(struct rule_search *search,
                                     const struct local_image *image, uint64_t pc)
{
    const uint64_t hdr = image->eh_frame_hdr;
    search->image = image;
    search->section =
        (struct cfi_section){ .kind = CFI_EH_FRAME, .text = image->start, .data = hdr };
    struct cursor bytes = local_image_bytes(image, hdr);
    size_t size = cursor_left(&bytes);
    if (hdr == 0 ||
        cfi_read_header(
            cursor_child(&bytes, size < CFI_HEADER_MAX ? size : CFI_HEADER_MAX), hdr,
            size, &search->header) != CH_OK)
        return CH_ERR_NOT_FOUND;
    search->section.address = search->header.eh_frame;
    return search->header.count != 0 ? local_search_table(search, pc)
                                     : scan_section(search, pc);
}

static enum ch_status find_cfi_rules(const struct local_image *image, uint64_t pc,
                                     struct unwind_row *out)
{
    static const struct cfi_processor native = {
        .register_count = UNWIND_REGISTER_COUNT,
        .fp = UNWIND_FP,
        .signs_returns = (int)UNWIND_FP == UNWIND_AARCH64_FP,
    };
    struct rule_search search;
    enum ch_status status = local_find_fde(&search, image, pc);
    if (status == CH_OK)
        status =
            cfi_find_row(&search.section, &native, &search.cie, &search.fde, pc, out);
    return status == CH_OK ? CH_OK : CH_ERR_NOT_FOUND;
}

uint64_t local_code_function(const struct local_image *image, uint64_t pc)
{
    struct rule_search search;
    bool is_found = local_find_fde(&search, image, pc) == CH_OK && pc < search.fde.end;
    return is_found ? search.fde.start : 0;
}

enum ch_status local_code_rules(const struct local_image *image, uint64_t pc,
                                enum crashhook_unwind_algorithm algorithm,
                                struct unwind_row *out)
{
    bool cfi_first = algorithm == CRASHHOOK_UNWIND_PRECISE;
    enum ch_status status =
        cfi_first ? find_cfi_rules(image, pc, out) : find_sframe_rules(image, pc, out);
    if (status != CH_OK)
        status = cfi_first ? find_sframe_rules(image, pc, out)
                           : find_cfi_rules(image, pc, out);
    return status;
}

// probe reads one word at address by a call that the C library itself makes for every
// thread it starts, so that no sandbox forbids it: sigprocmask with an operation that
// does not exist. The kernel copies the set before it looks at the operation.
static int probe(uint64_t address)
{
    const size_t kernel_set_bytes = 8;
    const int no_operation = ~0;
    int error = errno;
    long result =
        syscall(SYS_rt_sigprocmask, no_operation, address, NULL, kernel_set_bytes);
    int found = result == 0 ? 0 : errno;
    errno = error;
    return found;
}

bool local_code_is_readable(uint64_t address)
{
    // Some emulators look at the operation first. Page 0 is not readable anywhere.
    static atomic_int works; // 0: not tried, 1: yes, -1: no
    const uint64_t unreadable = sizeof(uint64_t);
    int known = atomic_load_explicit(&works, memory_order_relaxed);
    if (known == 0) {
        known = probe(unreadable) == EFAULT ? 1 : -1;
        atomic_store_explicit(&works, known, memory_order_relaxed);
    }
    return known > 0 && probe(address & -(uint64_t)sizeof(uint64_t)) == EINVAL;
}
