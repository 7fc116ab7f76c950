// SPDX-License-Identifier: Apache-2.0
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "cli/session/command.h"
#include "formats/interchange/fdr_functions.h"
#include "symbolizer/names/symbol_image.h"

static void extract_print(const struct fdr_sled *sled, const char *name, bool json,
                          bool first)
{
    if (!json) {
        printf("%6" PRIu32 "  0x%-12" PRIx64 " 0x%-12" PRIx64 " %-18s %s ", sled->id,
               sled->vaddr, sled->function, fdr_sled_name(sled),
               sled->always ? "always" : "      ");
        json_print_string(name, strlen(name)); // a name may contain anything
        putchar('\n');
        return;
    }
    printf("%s{\"id\":%" PRIu32 ",\"address\":\"0x%" PRIx64
           "\",\"function\":\"0x%" PRIx64
           "\",\"kind\":\"%s\",\"always_instrument\":%s,\"version\":%u,\"name\":",
           first ? "\n " : ",\n ", sled->id, sled->vaddr, sled->function,
           fdr_sled_name(sled), sled->always ? "true" : "false", sled->version);
    json_print_string(name, strlen(name));
    putchar('}');
}

static enum ch_status extract_all(struct fdr_functions *functions,
                                  struct symbol_image *image, bool json)
{
    struct symbol_frame frames[SYMBOL_FRAMES_MAX];
    struct fdr_sled sled;
    const char *name = "";
    uint32_t named = 0;
    enum ch_status status;
    bool first = true;
    while ((status = fdr_functions_next_sled(functions, &sled)) == CH_OK) {
        if (sled.id != named) {
            size_t count = symbol_image_find(image, sled.function, frames);
            name = count != 0 ? frames[count - 1].function : NULL;
            name = name != NULL ? name : "";
        }
        named = sled.id;
        extract_print(&sled, name, json, first);
        first = false;
    }
    return status;
}

static int run_fdr_extract(const struct options *options)
{
    static const struct build_id any_build = { .size = 0 };
    static const struct debug_search search = { 0 };
    const char *path = options->arguments[0];
    bool json = options_given(options, "json");
    CH_CLEANUP(text_deinit) struct text data = { 0 };
    struct symbol_image *image = NULL;
    struct fdr_functions functions;
    struct elf_view elf;
    if (command_read_file(path, &data) != CH_OK)
        return COMMAND_FAILED;
    enum ch_status status = elf_view_init(&elf, data.bytes, data.size);
    if (status == CH_OK)
        status = fdr_functions_init(&functions, &elf);
    if (status == CH_OK)
        status = symbol_image_open(&image, path, &any_build, &search, true);
    if (status == CH_OK) {
        fputs(json ? "{\"sleds\":[" : "", stdout);
        status = extract_all(&functions, image, json);
        fputs(json ? "]}\n" : "", stdout);
    }
    symbol_image_close(image);
    if (status == CH_END)
        return COMMAND_DONE;
    if (status == CH_ERR_NOT_FOUND)
        return command_fail("'%s' has no XRay instrumentation map", path);
    return command_fail("cannot read the instrumentation map of '%s': %s", path,
                        ch_status_name(status));
}

static const struct option extract_options[] = {
    { "json", NULL, "print JSON", 0 },
    { 0 },
};

const struct command fdr_extract_command = {
    .name = "fdr extract",
    .arguments = "ELF",
    .summary = "List the places that XRay can patch: function ids, addresses, names",
    .options = extract_options,
    .run = run_fdr_extract,
    .arguments_min = 1,
    .arguments_max = 1,
};
