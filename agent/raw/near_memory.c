// SPDX-License-Identifier: Apache-2.0
#include "agent/raw/near_memory.h"

#include <string.h>

#include "agent/facts/raw_write.h"
#include "agent/raw/raw_threads.h"
#include "base/hex.h"
#include "formats/debug/maps.h"
#include "report/secrets/sanitize.h"

enum { BEFORE = 32, AFTER = 96, WINDOW = BEFORE + AFTER, SHORTEST_RUN = 4 };

static bool is_character(uint8_t byte)
{
    return byte >= ' ' && byte < 0x7f;
}

// mask_run overwrites a run of characters if sanitizing would change it.
static void mask_run(uint8_t *run, size_t size, const char *home)
{
    char words[WINDOW + 1];
    struct text masked = { 0 };
    memcpy(words, run, size);
    words[size] = 0;
    sanitize_string(words, home, &masked);
    if (!text_ok(&masked) || masked.size != size ||
        memcmp(masked.bytes, words, size) != 0)
        memset(run, '*', size);
    text_deinit(&masked);
}

static void mask_near_secrets(uint8_t *bytes, size_t size, const char *home)
{
    for (size_t at = 0; at < size;) {
        size_t end = at;
        while (end < size && is_character(bytes[end]))
            end++;
        if (end - at >= SHORTEST_RUN)
            mask_run(bytes + at, end - at, home);
        at = end + 1;
    }
}

// read_window reads the bytes around address and returns how many. Where the part
// before address is not readable, only that part is lost.
static size_t read_window(const struct capture *capture, uint64_t address,
                          uint8_t *bytes, uint64_t *out_start)
{
    const struct memory_reader *memory = &capture->reader;
    uint64_t page = address & ~UINT64_C(4095);
    uint64_t start = address > BEFORE ? address - BEFORE : 0;
    size_t size = memory->read(memory->source, start, bytes, WINDOW);
    if (start + size <= address) {
        start = start < page ? page : address;
        size = memory->read(memory->source, start, bytes, WINDOW);
    }
    *out_start = start;
    return size;
}

static void write_window(struct json_writer *w, const struct capture *capture,
                         const char *name, uint64_t address)
{
    uint8_t bytes[WINDOW];
    char hex[2 * WINDOW + 1];
    uint64_t start = 0;
    size_t size = read_window(capture, address, bytes, &start);
    if (size == 0)
        return;
    if (capture->settings->sanitize != SETTING_NO)
        mask_near_secrets(bytes, size, capture->home);
    hex_encode(bytes, size, hex);
    json_write_object(w);
    raw_write_string(w, "register", name);
    raw_write_address(w, "address", start);
    raw_write_string(w, "bytes", hex);
    json_write_end(w, '}');
}

void near_memory_write(struct json_writer *w, const struct capture *capture)
{
    const struct target_crash *crash = capture->crash;
    if (crash == NULL || capture->settings->memory != SETTING_YES)
        return;
    json_write_key(w, "memory");
    json_write_array(w);
    for (size_t i = 0; i < capture->arch->register_count; i++) {
        uint64_t address = crash->registers.value[i];
        const struct target_mapping *mapping =
            images_mapping(&capture->images, address);
        if (mapping != NULL && (mapping->permissions & MAPS_EXECUTE) == 0)
            write_window(w, capture, raw_register_name(capture, i), address);
    }
    json_write_end(w, ']');
}
