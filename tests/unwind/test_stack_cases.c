// SPDX-License-Identifier: Apache-2.0
//
// Walks every recorded stack of tests/cases/unwind in every way and compares with the
// case's expected.txt, which CRASHHOOK_ACCEPT=1 writes. Where a case has `truth`, the
// frames of another unwinder, the ways that see everything must also agree with it; and
// with `truth_registers`, what that one found in the registers that calls keep.
#include <dirent.h>
#include <inttypes.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/text.h"
#include "support/test.h"
#include "unwind/unwind.h"
#include "unwind/unwind_state.h"

enum { REGIONS_MAX = 4096, IMAGES_MAX = 512, CODE_MAX = 512, WALK_TEXT = 1 << 16 };

struct region {
    uint64_t address;
    uint64_t size;
    uint8_t *bytes;
};

struct range {
    uint64_t start;
    uint64_t end;
};

struct stack_case {
    const struct unwind_arch *arch;
    struct unwind_registers registers;
    struct memory_reader memory;
    struct region regions[REGIONS_MAX];
    size_t region_count;
    struct unwind_image images[IMAGES_MAX];
    size_t image_count;
    struct range code[CODE_MAX];
    size_t code_count;
};

static size_t read_case(void *source, uint64_t address, void *to, size_t length)
{
    const struct stack_case *c = source;
    for (size_t i = 0; i < c->region_count; i++) {
        const struct region *region = &c->regions[i];
        if (address < region->address || address - region->address >= region->size)
            continue;
        uint64_t skip = address - region->address;
        uint64_t left = region->size - skip;
        size_t count = left < length ? (size_t)left : length;
        memcpy(to, region->bytes + skip, count);
        return count;
    }
    return 0;
}

static bool is_code(void *context, uint64_t address)
{
    const struct stack_case *c = context;
    for (size_t i = 0; i < c->code_count; i++) {
        if (address >= c->code[i].start && address < c->code[i].end)
            return true;
    }
    return false;
}

static uint64_t number(const json_t *value)
{
    if (json_is_integer(value))
        return (uint64_t)json_integer_value(value);
    const char *text = json_string_value(value);
    return text != NULL ? strtoull(text, NULL, 0) : 0;
}

static uint64_t member(const json_t *object, const char *name)
{
    return number(json_object_get(object, name));
}

static struct region read_region(const char *folder, const json_t *entry)
{
    char path[4096];
    struct region region = { .address = member(entry, "address") };
    snprintf(path, sizeof(path), "%s/%s", folder,
             json_string_value(json_object_get(entry, "file")));
    FILE *file = fopen(path, "rb");
    if (file == NULL)
        return region;
    long offset = (long)member(entry, "offset");
    fseek(file, 0, SEEK_END);
    long size = ftell(file) - offset;
    if (json_object_get(entry, "size") != NULL)
        size = (long)member(entry, "size");
    fseek(file, offset, SEEK_SET);
    region.bytes = malloc((size_t)size);
    if (region.bytes != NULL)
        region.size = fread(region.bytes, 1, (size_t)size, file);
    fclose(file);
    return region;
}

static struct unwind_image read_image(const json_t *entry)
{
    return (struct unwind_image){ .start = member(entry, "start"),
                                  .end = member(entry, "end"),
                                  .bias = member(entry, "bias"),
                                  .entry = member(entry, "entry"),
                                  .sframe = member(entry, "sframe"),
                                  .sframe_size = member(entry, "sframe_size"),
                                  .eh_frame_hdr = member(entry, "eh_frame_hdr"),
                                  .eh_frame_hdr_size =
                                      member(entry, "eh_frame_hdr_size") };
}

static const struct unwind_arch *arch_of(const json_t *json)
{
    const struct unwind_arch *const all[] = { &unwind_arch_amd64, &unwind_arch_aarch64,
                                              &unwind_arch_s390x };
    const char *name = json_string_value(json_object_get(json, "arch"));
    for (size_t i = 0; name != NULL && i < sizeof(all) / sizeof(all[0]); i++) {
        if (strcmp(all[i]->name, name) == 0)
            return all[i];
    }
    return NULL;
}

static void case_load(struct stack_case *c, const char *folder, const json_t *json)
{
    size_t i;
    json_t *entry;
    c->arch = arch_of(json);
    json_array_foreach(json_object_get(json, "registers"), i, entry)
        c->registers.value[i] = number(entry);
    json_array_foreach(json_object_get(json, "memory"), i, entry)
        c->regions[c->region_count++] = read_region(folder, entry);
    json_array_foreach(json_object_get(json, "images"), i, entry)
        c->images[c->image_count++] = read_image(entry);
    json_array_foreach(json_object_get(json, "code"), i, entry)
        c->code[c->code_count++] = (struct range){ number(json_array_get(entry, 0)),
                                                   number(json_array_get(entry, 1)) };
    c->memory = (struct memory_reader){
        .read = read_case,
        .source = c,
        .big_endian = json_is_true(json_object_get(json, "big_endian")),
    };
}

static void case_unload(struct stack_case *c)
{
    for (size_t i = 0; i < c->region_count; i++)
        free(c->regions[i].bytes);
    free(c);
}

struct output {
    char *text;
    size_t size;
    const json_t *truth; // NULL: none, or it does not apply
    size_t frames;
    bool untrue;
};

static bool print_frame(void *context, const struct unwind_frame *frame,
                        const struct unwind_state *state)
{
    (void)state;
    struct output *out = context;
    json_t *truth = json_array_get(out->truth, out->frames);
    if (out->truth != NULL && (truth == NULL || number(truth) != frame->address))
        out->untrue = true;
    out->frames++;
    out->size += (size_t)snprintf(out->text + out->size, WALK_TEXT - out->size,
                                  "  %s 0x%" PRIx64 " %s\n",
                                  frame->kind == UNWIND_KIND_PC ? "pc" : "ra",
                                  frame->address, unwind_trust_name(frame->trust));
    return out->size < WALK_TEXT - 256;
}

// walk_all writes what every way gives; false: one that sees everything is not true.
static bool walk_all(struct stack_case *c, const json_t *json, char *text)
{
    static const char *const names[] = { "auto",   "fast",  "precise",
                                         "sframe", "dwarf", "fp" };
    static const enum setting_unwind ways[] = {
        SETTING_UNWIND_AUTO,   SETTING_UNWIND_FAST,  SETTING_UNWIND_PRECISE,
        SETTING_UNWIND_SFRAME, SETTING_UNWIND_DWARF, SETTING_UNWIND_FP,
    };
    const json_t *truth = json_object_get(json, "truth");
    struct output out = { .text = text };
    struct unwind_space *space;
    if (c->arch == NULL || unwind_space_create(c->arch, &c->memory, c->images,
                                               c->image_count, &space) != CH_OK)
        return false;
    unwind_space_set_code(space, is_code, c);
    bool seen = true;
    for (size_t i = 0; i < sizeof(ways) / sizeof(ways[0]); i++) {
        bool all = ways[i] == SETTING_UNWIND_AUTO ||
                   ways[i] == SETTING_UNWIND_PRECISE || ways[i] == SETTING_UNWIND_DWARF;
        out.truth = all ? truth : NULL;
        out.frames = 0;
        out.untrue = false;
        out.size +=
            (size_t)snprintf(text + out.size, WALK_TEXT - out.size, "%s\n", names[i]);
        enum unwind_end end =
            unwind_walk(space, &c->registers, ways[i], print_frame, &out);
        out.size += (size_t)snprintf(text + out.size, WALK_TEXT - out.size, "  %s\n",
                                     unwind_end_name(end));
        if (out.truth != NULL &&
            (out.untrue || out.frames != json_array_size(out.truth))) {
            print_message("%s is not true\n", names[i]);
            seen = false;
        }
    }
    unwind_space_destroy(space);
    return seen;
}

// A comparison of registers: each frame's truth is what differs from the frame before.
struct compared {
    const json_t *truth;
    uint64_t true_value[UNWIND_REGISTERS];
    uint64_t told; // bit n: the truth has register n
    size_t frames;
    size_t registers;
    bool untrue;
};

static bool compare_registers(void *context, const struct unwind_frame *frame,
                              const struct unwind_state *state)
{
    struct compared *compared = context;
    json_t *changed = json_array_get(compared->truth, compared->frames++);
    const char *key;
    json_t *value;
    json_object_foreach(changed, key, value)
    {
        unsigned reg = (unsigned)strtoul(key, NULL, 10);
        compared->true_value[reg] = number(value);
        compared->told |= UINT64_C(1) << reg;
    }
    for (unsigned i = 0; i < UNWIND_REGISTERS; i++) {
        if (!(compared->told >> i & 1))
            continue;
        compared->registers++;
        if (unwind_state_sure(state) >> i & 1 &&
            state->registers.value[i] == compared->true_value[i])
            continue;
        print_message("register %u at 0x%" PRIx64 " is 0x%" PRIx64 "\n", i,
                      frame->address, compared->true_value[i]);
        compared->untrue = true;
    }
    return true;
}

// walk_registers compares every frame's registers with the truth, if there is one.
// True: nothing differs.
static bool walk_registers(struct stack_case *c, const json_t *json, size_t *total)
{
    struct compared compared = { .truth = json_object_get(json, "truth_registers") };
    struct unwind_space *space;
    if (compared.truth == NULL)
        return true;
    if (unwind_space_create(c->arch, &c->memory, c->images, c->image_count, &space) !=
        CH_OK)
        return false;
    unwind_space_set_code(space, is_code, c);
    (void)unwind_walk(space, &c->registers, SETTING_UNWIND_DWARF, compare_registers,
                      &compared);
    unwind_space_destroy(space);
    *total += compared.registers;
    return !compared.untrue && compared.frames == json_array_size(compared.truth);
}

static bool same_as_file(const char *path, const char *text)
{
    char *expected = calloc(1, WALK_TEXT);
    FILE *file = fopen(path, getenv("CRASHHOOK_ACCEPT") != NULL ? "w+" : "r");
    bool same = false;
    if (file != NULL && expected != NULL) {
        if (getenv("CRASHHOOK_ACCEPT") != NULL) {
            fputs(text, file);
            rewind(file);
        }
        size_t size = fread(expected, 1, WALK_TEXT - 1, file);
        same = size == strlen(text) && memcmp(expected, text, size) == 0;
    }
    if (file != NULL)
        fclose(file);
    free(expected);
    return same;
}

static bool check_case(const char *name, size_t *registers)
{
    char folder[2048];
    char path[4096];
    snprintf(folder, sizeof(folder), "%s/%s", CASES, name);
    snprintf(path, sizeof(path), "%s/case.json", folder);
    json_t *json = json_load_file(path, 0, NULL);
    struct stack_case *c = calloc(1, sizeof(*c));
    char *text = calloc(1, WALK_TEXT);
    bool good = json != NULL && c != NULL && text != NULL;
    if (good) {
        case_load(c, folder, json);
        snprintf(path, sizeof(path), "%s/expected.txt", folder);
        good = walk_all(c, json, text);
        good = same_as_file(path, text) && good;
        good = walk_registers(c, json, registers) && good;
        if (!good)
            print_message("%s gives:\n%s", name, text);
    }
    if (c != NULL)
        case_unload(c);
    free(text);
    json_decref(json);
    return good;
}

static int is_case(const struct dirent *entry)
{
    return entry->d_type == DT_DIR && entry->d_name[0] != '.';
}

static void recorded_stacks_unwind_as_expected(void **state)
{
    (void)state;
    struct dirent **entries;
    int count = scandir(CASES, &entries, is_case, alphasort);
    int bad = 0;
    size_t registers = 0;
    for (int i = 0; i < count; i++) {
        bad += !check_case(entries[i]->d_name, &registers);
        free(entries[i]);
    }
    if (count >= 0)
        free(entries);
    print_message("%d recorded stacks, %zu registers\n", count, registers);
    assert_true(count >= 90);
    assert_true(registers >= 2000);
    assert_int_equal(bad, 0);
}

static bool count_frame(void *context, const struct unwind_frame *frame,
                        const struct unwind_state *state)
{
    (void)state;
    (void)frame;
    return ++*(size_t *)context < 4096;
}

// longest_walk walks by SFrame, with and without what comes after it.
static size_t longest_walk(struct stack_case *c)
{
    static const enum setting_unwind ways[] = { SETTING_UNWIND_SFRAME,
                                                SETTING_UNWIND_AUTO };
    size_t longest = 0;
    for (size_t i = 0; i < 2; i++) {
        struct unwind_space *space;
        size_t count = 0;
        if (unwind_space_create(c->arch, &c->memory, c->images, c->image_count,
                                &space) != CH_OK)
            abort();
        unwind_space_set_code(space, is_code, c);
        (void)unwind_walk(space, &c->registers, ways[i], count_frame, &count);
        unwind_space_destroy(space);
        if (count > longest)
            longest = count;
    }
    return longest;
}

static void walks_end_whatever_bit_of_an_sframe_section_is_wrong(void **state)
{
    (void)state;
    static const char *const names[] = { "live-v1-stop07_1", "live-v2-stop07_1",
                                         "live-v3-stop07_1" };
    size_t longest = 0;
    for (size_t n = 0; n < 3; n++) {
        char folder[2048];
        char path[4096];
        snprintf(folder, sizeof(folder), "%s/%s", CASES, names[n]);
        snprintf(path, sizeof(path), "%s/case.json", folder);
        json_t *json = json_load_file(path, 0, NULL);
        struct stack_case *c = calloc(1, sizeof(*c));
        if (c == NULL || json == NULL)
            abort();
        case_load(c, folder, json);
        uint8_t *section =
            c->regions[0].bytes + (c->images[0].sframe - c->regions[0].address);
        // The section ends where its segment does, or where the file does.
        size_t end = c->regions[0].size - (size_t)(section - c->regions[0].bytes);
        if (end > c->images[0].sframe_size)
            end = (size_t)c->images[0].sframe_size;
        for (size_t bit = 0; bit < end * 8; bit++) {
            section[bit / 8] ^= (uint8_t)(1u << bit % 8);
            size_t count = longest_walk(c);
            section[bit / 8] ^= (uint8_t)(1u << bit % 8);
            if (count > longest)
                longest = count;
        }
        case_unload(c);
        json_decref(json);
    }
    assert_in_range(longest, 6, 64);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(recorded_stacks_unwind_as_expected),
        cmocka_unit_test(walks_end_whatever_bit_of_an_sframe_section_is_wrong),
    };
    return cmocka_run_group_tests_name("unwind/stack_cases", tests, NULL, NULL);
}
