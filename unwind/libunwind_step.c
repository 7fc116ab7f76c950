// SPDX-License-Identifier: Apache-2.0
#include "unwind/libunwind_step.h"

#include <libunwind.h>
#include <stdlib.h>
#include <string.h>

#include "base/cursor.h"

// UNW_OBJ names the function with libunwind's prefix for this architecture. libunwind
// exports it for address spaces like ours but declares it in no header.
int UNW_OBJ(dwarf_search_unwind_table)(unw_addr_space_t space, unw_word_t ip,
                                       unw_dyn_info_t *table, unw_proc_info_t *out,
                                       int need_unwind_info, void *context);

// The layout of .eh_frame_hdr that every linker we know writes: version 1, the address
// of .eh_frame as a PC-relative 32-bit offset, the count in 32 bits, a sorted table
// relative to the header.
enum {
    HDR_VERSION = 1,
    HDR_COUNT_UDATA4 = 0x03,
    HDR_TABLE_DATAREL_SDATA4 = 0x3b,
    HDR_BYTES = 12,
    HDR_ENTRY_BYTES = 8,
    RULE_CACHE_ENTRIES = 1024,
};

// table is an image's search table; its entry count is read from its header once.
struct table {
    bool read;
    uint32_t count; // 0: no usable table
};

struct libunwind_images {
    const struct memory_reader *memory;
    const struct unwind_image *images;
    size_t count;
    struct table *tables;
    unw_addr_space_t space;
};

struct libunwind_walk {
    struct libunwind_images *images;
    struct unwind_registers registers;
    unw_cursor_t cursor;
    bool missed; // no rule was found during the current step
};

static uint32_t read_table_count(const struct memory_reader *memory,
                                 const struct unwind_image *image)
{
    uint8_t bytes[HDR_BYTES];
    if (image->eh_frame_hdr_size < HDR_BYTES ||
        memory_read(memory, image->eh_frame_hdr, bytes, sizeof(bytes)) != CH_OK)
        return 0;

    struct cursor c = cursor_over(bytes, sizeof(bytes));
    uint8_t version = cursor_u8(&c);
    cursor_skip(&c, 1);
    uint8_t count_encoding = cursor_u8(&c);
    uint8_t table_encoding = cursor_u8(&c);
    cursor_skip(&c, 4);
    uint32_t count = cursor_u32(&c);
    if (version != HDR_VERSION || count_encoding != HDR_COUNT_UDATA4 ||
        table_encoding != HDR_TABLE_DATAREL_SDATA4 ||
        count > (image->eh_frame_hdr_size - HDR_BYTES) / HDR_ENTRY_BYTES)
        return 0;
    return count;
}

static int find_proc_info(unw_addr_space_t space, unw_word_t ip, unw_proc_info_t *out,
                          int need_unwind_info, void *context)
{
    struct libunwind_walk *walk = context;
    struct libunwind_images *images = walk->images;
    const struct unwind_image *image = image_search(images->images, images->count, ip);
    struct table *table =
        image != NULL ? &images->tables[image - images->images] : NULL;

    if (table != NULL && !table->read) {
        table->count = read_table_count(images->memory, image);
        table->read = true;
    }
    walk->missed = true;
    if (table == NULL || table->count == 0)
        return -UNW_ENOINFO;

    // table_len counts words.
    unw_dyn_info_t info = {
        .start_ip = image->start,
        .end_ip = image->end,
        .format = UNW_INFO_FORMAT_REMOTE_TABLE,
        .u.rti = {
            .segbase = image->eh_frame_hdr,
            .table_data = image->eh_frame_hdr + HDR_BYTES,
            .table_len = (unw_word_t)table->count * HDR_ENTRY_BYTES / sizeof(unw_word_t),
        },
    };
    int result = UNW_OBJ(dwarf_search_unwind_table)(space, ip, &info, out,
                                                    need_unwind_info, context);
    walk->missed = result < 0;
    return result;
}

static void put_unwind_info(unw_addr_space_t space, unw_proc_info_t *info,
                            void *context)
{
    (void)space;
    (void)info;
    (void)context;
}

static int get_dyn_info_list(unw_addr_space_t space, unw_word_t *out, void *context)
{
    (void)space;
    (void)out;
    (void)context;
    return -UNW_ENOINFO;
}

static int access_memory(unw_addr_space_t space, unw_word_t address, unw_word_t *value,
                         int write, void *context)
{
    struct libunwind_walk *walk = context;
    uint64_t word;
    (void)space;
    if (write || memory_read_word(walk->images->memory, address, &word) != CH_OK)
        return -UNW_EINVAL;
    *value = word;
    return 0;
}

static int access_register(unw_addr_space_t space, unw_regnum_t number,
                           unw_word_t *value, int write, void *context)
{
    struct libunwind_walk *walk = context;
    (void)space;
    if (write || number < 0 || number >= UNWIND_REGISTER_COUNT)
        return -UNW_EBADREG;
    *value = walk->registers.value[number];
    return 0;
}

static int access_float_register(unw_addr_space_t space, unw_regnum_t number,
                                 unw_fpreg_t *value, int write, void *context)
{
    (void)space;
    (void)number;
    (void)value;
    (void)write;
    (void)context;
    return -UNW_EBADREG;
}

static int resume(unw_addr_space_t space, unw_cursor_t *cursor, void *context)
{
    (void)space;
    (void)cursor;
    (void)context;
    return -UNW_EINVAL;
}

static int proc_name(unw_addr_space_t space, unw_word_t address, char *name,
                     size_t size, unw_word_t *offset, void *context)
{
    (void)space;
    (void)address;
    (void)name;
    (void)size;
    (void)offset;
    (void)context;
    return -UNW_ENOINFO;
}

enum ch_status libunwind_images_create(const struct memory_reader *memory,
                                       const struct unwind_image *images, size_t count,
                                       struct libunwind_images **out)
{
    static unw_accessors_t accessors = {
        .find_proc_info = find_proc_info,
        .put_unwind_info = put_unwind_info,
        .get_dyn_info_list_addr = get_dyn_info_list,
        .access_mem = access_memory,
        .access_reg = access_register,
        .access_fpreg = access_float_register,
        .resume = resume,
        .get_proc_name = proc_name,
    };
    struct libunwind_images *made = calloc(1, sizeof(*made));
    if (made == NULL)
        return CH_ERR_NO_MEMORY;

    made->memory = memory;
    made->images = images;
    made->count = count;
    made->tables = calloc(count + 1, sizeof(*made->tables));
    made->space = unw_create_addr_space(&accessors, 0);
    if (made->tables == NULL || made->space == NULL) {
        libunwind_images_destroy(made);
        return CH_ERR_NO_MEMORY;
    }
    unw_set_caching_policy(made->space, UNW_CACHE_GLOBAL);
    unw_set_cache_size(made->space, RULE_CACHE_ENTRIES, 0);
    *out = made;
    return CH_OK;
}

void libunwind_images_destroy(struct libunwind_images *images)
{
    if (images == NULL)
        return;
    if (images->space != NULL)
        unw_destroy_addr_space(images->space);
    free(images->tables);
    free(images);
}

enum ch_status libunwind_walk_create(struct libunwind_images *images,
                                     struct libunwind_walk **out)
{
    struct libunwind_walk *walk = calloc(1, sizeof(*walk));
    if (walk == NULL)
        return CH_ERR_NO_MEMORY;
    walk->images = images;
    *out = walk;
    return CH_OK;
}

void libunwind_walk_destroy(struct libunwind_walk *walk)
{
    free(walk);
}

enum ch_status libunwind_walk_begin(struct libunwind_walk *walk,
                                    const struct unwind_registers *registers,
                                    bool exact)
{
    walk->registers = *registers;
    // libunwind looks the first PC up as it is. For a return address the call itself
    // has to be looked up, because it may be the last instruction of its function.
    if (!exact)
        walk->registers.value[UNWIND_PC]--;
    if (unw_init_remote(&walk->cursor, walk->images->space, walk) != 0)
        return CH_ERR_FAULT;
    return CH_OK;
}

enum ch_status libunwind_walk_registers(struct libunwind_walk *walk,
                                        struct unwind_registers *out)
{
    unw_word_t pc;
    unw_word_t sp;
    unw_word_t fp;
    if (unw_get_reg(&walk->cursor, UNW_REG_IP, &pc) != 0 ||
        unw_get_reg(&walk->cursor, UNW_REG_SP, &sp) != 0)
        return CH_ERR_FAULT;
    if (unw_get_reg(&walk->cursor, UNWIND_FP, &fp) != 0)
        fp = 0;
    *out = (struct unwind_registers){ 0 };
    out->value[UNWIND_PC] = pc;
    out->value[UNWIND_SP] = sp;
    out->value[UNWIND_FP] = fp;
    return CH_OK;
}

bool libunwind_walk_in_signal(struct libunwind_walk *walk)
{
    return unw_is_signal_frame(&walk->cursor) > 0;
}

enum ch_status libunwind_walk_step(struct libunwind_walk *walk)
{
    walk->missed = false;
    int result = unw_step(&walk->cursor);
    // Where there is no rule, libunwind guesses. Guessing is fp_step's task, whose
    // frames are labelled as such.
    if (walk->missed)
        return CH_ERR_NOT_FOUND;
    if (result > 0)
        return CH_OK;
    return result == 0 ? CH_END : CH_ERR_FAULT;
}
