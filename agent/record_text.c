// SPDX-License-Identifier: Apache-2.0
#include "agent/record_text.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "agent/core/record_capture.h"
#include "agent/raw/crash_examine.h"
#include "agent/raw/raw_threads.h"
#include "images/image_frames.h"
#include "report/summary/crash_summary.h"

enum { SYMBOL_FUNCTION = 2, SYMBOL_NAME_BYTES = 256 };

static const char *record_variable(void *context, const char *name)
{
    (void)context;
    return getenv(name);
}

// A symbol is the function that contains an address.
struct symbol {
    char name[SYMBOL_NAME_BYTES]; // empty: not known
    uint64_t offset;
};

// search_record_table looks in one symbol table for the function that contains vaddr. A
// function without a size reaches to the next one.
static void search_record_table(const struct elf_view *file, const char *table,
                                uint64_t vaddr, struct symbol *out)
{
    struct elf_section section;
    struct elf_section names;
    struct elf_symbol symbol;
    uint64_t best = 0;
    if (elf_view_find_section(file, table, &section, NULL) != CH_OK ||
        elf_view_section(file, section.link, &names) != CH_OK)
        return;
    struct cursor symbols = elf_section_cursor(file, &section);
    while (elf_next_symbol(file, &symbols, &symbol) == CH_OK) {
        bool inside = symbol.value <= vaddr &&
                      (symbol.size == 0 || vaddr - symbol.value < symbol.size);
        if ((symbol.info & 15) != SYMBOL_FUNCTION || symbol.section == 0 || !inside ||
            symbol.value < best)
            continue;
        struct cursor text = elf_section_cursor(file, &names);
        cursor_seek(&text, symbol.name);
        size_t size = cursor_left(&text);
        const char *name = (const char *)cursor_take(&text, size);
        if (name == NULL || memchr(name, 0, size) == NULL)
            continue;
        (void)snprintf(out->name, sizeof(out->name), "%s", name);
        out->offset = vaddr - symbol.value;
        best = symbol.value;
    }
}

static void find_symbol(struct target_image *image, uint64_t address,
                        struct symbol *out)
{
    struct elf_view file;
    out->name[0] = 0;
    if (image->deleted || image_frames_open(image, &file) != CH_OK)
        return;
    search_record_table(&file, ".symtab", address - image->bias, out);
    if (out->name[0] == 0)
        search_record_table(&file, ".dynsym", address - image->bias, out);
}

struct frames {
    struct capture *capture;
    unsigned count;
};

// print_frame is an unwind_frame_fn.
static bool print_frame(void *context, const struct unwind_frame *frame,
                        const struct unwind_state *state)
{
    struct frames *frames = context;
    uint64_t inside = frame->address - (frame->kind == UNWIND_KIND_RA);
    const struct target_image *found = images_find(&frames->capture->images, inside);
    struct symbol symbol = { 0 };
    (void)state;
    printf("%4u  ", frames->count++);
    if (found == NULL) {
        printf("0x%" PRIx64 "\n", frame->address);
        return frames->count < RAW_FRAMES_MAX;
    }
    size_t index = (size_t)(found - frames->capture->images.images);
    find_symbol(&frames->capture->images.images[index], inside, &symbol);
    if (symbol.name[0] != 0)
        printf("%s+0x%" PRIx64 " in ", symbol.name,
               symbol.offset + (frame->kind == UNWIND_KIND_RA));
    printf("%.*s+0x%" PRIx64 "\n", (int)found->path_size, found->path,
           frame->address - found->base);
    return frames->count < RAW_FRAMES_MAX;
}

static void print_time(uint64_t realtime_ns)
{
    char text[32];
    struct tm parts;
    time_t seconds = (time_t)(realtime_ns / 1000000000);
    if (gmtime_r(&seconds, &parts) != NULL &&
        strftime(text, sizeof(text), "%Y-%m-%dT%H:%M:%SZ", &parts) != 0)
        printf("Time     %s\n", text);
}

static void print_summary(struct record_capture *all)
{
    static const struct waits none;
    struct text CH_CLEANUP(text_deinit) summary = { 0 };
    struct crash_examination crash;
    struct capture *capture = &all->capture;
    crash_examine(capture, &none, &crash);
    crash_summary(&crash.facts, &summary);
    printf("%.*s: %s\n", (int)capture->process.executable.size,
           capture->process.executable.bytes != NULL ? capture->process.executable.bytes
                                                     : "",
           summary.bytes != NULL ? summary.bytes : "");
    if (crash.message[0] != 0)
        printf("Message  %s\n", crash.message);
    printf("Process  %d\n", capture->process.pid);
    print_time(all->crash.realtime_ns);
    printf("Thread   %d \"%s\"\n\n", all->crash.tid, all->record.header.thread_name);
}

static enum ch_status print_stack(struct record_capture *all)
{
    static struct raw_threads threads;
    struct frames frames = { .capture = &all->capture };
    enum ch_status status = raw_threads_init(&threads, &all->capture);
    if (status != CH_OK)
        return status;
    enum unwind_end end = unwind_walk(threads.space, &all->crash.registers,
                                      all->settings.unwind, print_frame, &frames);
    if (end != UNWIND_END_OF_STACK)
        printf("      the stack cannot be followed further (%s)\n",
               unwind_end_name(end));
    raw_threads_deinit(&threads);
    return CH_OK;
}

static enum ch_status print_record(int fd)
{
    static struct record_capture all;
    struct settings settings;
    settings_read(&settings, record_variable, NULL, NULL);
    enum ch_status status = record_capture_open(&all, fd, &settings);
    if (status != CH_OK)
        return status;
    if (record_capture_is_liveness(&all)) {
        printf("process %d was still running when this was written\n",
               all.capture.process.pid);
    } else {
        print_summary(&all);
        status = print_stack(&all);
    }
    record_capture_close(&all);
    return status;
}

int record_text_print(const char *path)
{
    char first = 0;
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0) {
        (void)fprintf(stderr, "crashhook-agent: cannot open '%s': %s\n", path,
                      strerror(errno));
        return 1;
    }
    enum ch_status status = print_record(fd);
    bool is_report = status != CH_OK && pread(fd, &first, 1, 0) == 1 && first == '{';
    (void)close(fd);
    if (status == CH_OK)
        return fflush(stdout) == 0 ? 0 : 1;
    if (is_report)
        (void)fprintf(stderr,
                      "crashhook-agent: '%s' is a report and not a record; use "
                      "`crashhook show`\n",
                      path);
    else
        (void)fprintf(stderr, "crashhook-agent: cannot read the record '%s': %s\n",
                      path, ch_status_name(status));
    return 1;
}
