// SPDX-License-Identifier: Apache-2.0
#include "agent/core/core_capture.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "agent/core/core_input.h"
#include "agent/raw/raw_report.h"
#include "images/link_map.h"
#include "support/bytes.h"
#include "support/core_builder.h"
#include "support/fake_memory.h"
#include "support/test.h"

enum { STACK = 0x7ffe0000, HEAP = 0x10000, CODE = 0x400000, RSP = 19, RIP = 16 };

static uint64_t stack_words[64];
static uint8_t code_bytes[256];

// build makes a core of two threads with a stack, and code that was not dumped.
static void build(struct core_builder *b)
{
    uint64_t registers[34] = { 0 };
    *b = (struct core_builder){ .machine = ELF_X86_64 };
    registers[RSP] = STACK;
    registers[RIP] = CODE + 16;
    core_builder_thread(b, 4242, 11, registers);
    core_builder_process(b, 4242, "shop");
    core_builder_fault(b, 11, 1, 0x10);
    core_builder_auxv(b, CORE_AT_PHDR, CODE + 64);
    core_builder_files(b, 1,
                       (const struct core_builder_file[]){
                           { CODE, CODE + 0x1000, 0, "/nowhere/shop" } });
    core_builder_thread(b, 4243, 0, registers);
    core_builder_segment(b, CODE, NULL, 0x1000, ELF_PF_R | ELF_PF_X);
    core_builder_segment(b, HEAP, code_bytes, sizeof(code_bytes), ELF_PF_R | ELF_PF_W);
    core_builder_segment(b, STACK, stack_words, sizeof(stack_words),
                         ELF_PF_R | ELF_PF_W);
    core_builder_finish(b);
}

static int file_of(const void *bytes, size_t size)
{
    int fd = memfd_create("core", MFD_CLOEXEC);
    if (fd < 0 || write(fd, bytes, size) != (ssize_t)size)
        abort();
    return fd;
}

static const char *not_set(void *context, const char *variable)
{
    (void)context;
    (void)variable;
    return NULL;
}

// report opens a core and writes its whole report to out.
static enum ch_status report(const void *bytes, size_t size, struct core_capture *all,
                             struct text *out)
{
    static struct settings settings;
    char id[REPORT_ID_SIZE];
    settings_read(&settings, not_set, NULL, NULL);
    const struct core_options options = { .settings = &settings };
    report_id_make(0, id);
    int fd = file_of(bytes, size);
    enum ch_status status = core_capture_open(all, fd, &options);
    if (status == CH_OK)
        status = raw_report_write(&all->capture, id, -1, out);
    close(fd);
    return status;
}

static int survive(const uint8_t *bytes, size_t size, void *context)
{
    struct text out = { 0 };
    struct core_capture all;
    (void)context;
    enum ch_status status = report(bytes, size, &all, &out);
    // What was opened gave a report.
    int wrong = status == CH_OK && (out.size == 0 || out.bytes[out.size - 1] != '}');
    if (status == CH_OK)
        core_capture_close(&all);
    text_deinit(&out);
    return wrong;
}

static void core_capture_has_threads_signal_and_registers(void **state)
{
    (void)state;
    struct core_builder b;
    struct core_capture all;
    struct text out = { 0 };
    build(&b);
    enum ch_status status = report(b.file.bytes, b.file.size, &all, &out);
    const struct capture *capture = &all.capture;
    size_t threads = capture->stop.count;
    bool crashed = capture->crash == &all.crash;
    uint64_t pc = all.crash.registers.value[UNWIND_PC];
    int signal = all.crash.info.si_signo;
    bool address = all.crash.info.si_addr == (void *)0x10;
    bool cut = all.core.truncated || all.core.damaged;
    // The file of the program is not there, and nothing else went wrong.
    size_t problems = capture->problem_count;
    bool said = problems == 1 && strstr(capture->problems[0].status, "/nowhere/shop");
    core_capture_close(&all);
    core_builder_deinit(&b);
    bool second = strstr(out.bytes, "\"tid\":4243") != NULL;
    text_deinit(&out);

    assert_int_equal(status, CH_OK);
    assert_int_equal(threads, 2);
    assert_true(crashed);
    assert_int_equal(pc, CODE + 16);
    assert_int_equal(signal, 11);
    assert_true(address);
    assert_false(cut);
    assert_true(said);
    assert_true(second);
}

static void
core_capture_takes_the_thread_with_the_signal_for_the_crashed_one(void **state)
{
    (void)state;
    uint64_t registers[34] = { [RSP] = STACK, [RIP] = CODE };
    struct core_builder b = { .machine = ELF_X86_64 };
    struct core_capture all;
    struct text out = { 0 };
    core_builder_thread(&b, 4242, 0, registers);
    core_builder_process(&b, 4242, "shop");
    registers[RIP] = CODE + 16;
    core_builder_thread(&b, 4243, 11, registers);
    core_builder_fault(&b, 11, 1, 0x10);
    core_builder_finish(&b);
    enum ch_status status = report(b.file.bytes, b.file.size, &all, &out);
    pid_t tid = all.crash.tid;
    uint64_t pc = all.crash.registers.value[UNWIND_PC];
    bool address = all.crash.info.si_addr == (void *)0x10;
    size_t threads = all.capture.stop.count;
    core_capture_close(&all);
    core_builder_deinit(&b);
    text_deinit(&out);

    assert_int_equal(status, CH_OK);
    assert_int_equal(tid, 4243);
    assert_int_equal(pc, CODE + 16);
    assert_true(address);
    assert_int_equal(threads, 2);
}

static void core_capture_survives_every_cut(void **state)
{
    (void)state;
    struct core_builder b;
    build(&b);
    int wrong =
        bytes_cut_everywhere((uint8_t *)b.file.bytes, b.file.size, survive, NULL);
    core_builder_deinit(&b);
    assert_int_equal(wrong, 0);
}

static void core_capture_survives_every_flipped_bit(void **state)
{
    (void)state;
    struct core_builder b;
    build(&b);
    // Headers and notes; what follows them is data alone.
    size_t size = b.file.size - sizeof(stack_words) - sizeof(code_bytes);
    int wrong = bytes_flip_every_bit((uint8_t *)b.file.bytes, size, survive, NULL);
    core_builder_deinit(&b);
    assert_int_equal(wrong, 0);
}

static void core_memory_is_the_core_then_the_file_then_nothing(void **state)
{
    (void)state;
    static const char text[] = "the program's own code";
    struct core_builder b;
    struct core_file core;
    struct core_memory memory;
    uint8_t bytes[16];
    build(&b);
    int fd = file_of(b.file.bytes, b.file.size);
    int image = file_of(text, sizeof(text));
    assert_int_equal(core_file_open(&core, fd), CH_OK);
    assert_int_equal(core_memory_init(&memory, &core), CH_OK);
    struct memory_reader reader = core_memory_reader(&memory);
    enum ch_status before = memory_read(&reader, CODE, bytes, 4);
    enum ch_status added = core_memory_add(
        &memory,
        &(struct core_region){ .start = CODE, .end = CODE + 0x1000, .fd = image });
    enum ch_status after = memory_read(&reader, CODE + 4, bytes, 7);
    bool equal = memcmp(bytes, "program", 7) == 0;
    enum ch_status past = memory_read(&reader, CODE + sizeof(text), bytes, 1);
    enum ch_status stack = memory_read(&reader, STACK + 8, bytes, 8);
    enum ch_status over =
        memory_read(&reader, STACK + sizeof(stack_words) - 4, bytes, 8);
    core_memory_deinit(&memory);
    core_file_close(&core);
    core_builder_deinit(&b);
    close(fd);
    close(image);

    assert_int_equal(before, CH_ERR_FAULT);
    assert_int_equal(added, CH_OK);
    assert_int_equal(after, CH_OK);
    assert_true(equal);
    assert_int_equal(past, CH_ERR_FAULT);
    assert_int_equal(stack, CH_OK);
    assert_int_equal(over, CH_ERR_FAULT);
}

static enum ch_status count_entry(void *context, const struct link_map_entry *entry)
{
    size_t *count = context;
    *count += entry->bias == 0x5000;
    return CH_OK;
}

static void link_map_walk_ends_on_a_list_that_goes_round(void **state)
{
    (void)state;
    enum { DYNAMIC = 0x1000, DEBUG = 0x2000, FIRST = 0x3000 };
    static const uint64_t dynamic[] = { 21, DEBUG, 0, 0 };
    static const uint64_t debug[] = { 1, FIRST };
    static const uint64_t entry[] = { 0x5000, 0, 0x6000, FIRST };
    const struct fake_region regions[] = {
        { DYNAMIC, dynamic, sizeof(dynamic) },
        { DEBUG, debug, sizeof(debug) },
        { FIRST, entry, sizeof(entry) },
    };
    struct fake_memory memory = { .regions = regions, .region_count = 3 };
    struct memory_reader reader = fake_memory_reader(&memory);
    size_t count = 0;

    assert_int_equal(link_map_walk(&reader, DYNAMIC, count_entry, &count),
                     CH_ERR_LIMIT);
    assert_in_range(count, 1, 100000);
    memory.region_count = 2;
    assert_int_equal(link_map_walk(&reader, DYNAMIC, count_entry, &count),
                     CH_ERR_FAULT);
    memory.regions++;
    assert_int_equal(link_map_walk(&reader, DYNAMIC, count_entry, &count),
                     CH_ERR_FAULT);
}

static void core_arguments_come_whole_from_the_stack(void **state)
{
    (void)state;
    enum { AT = 0x7000 };
    static const char strings[] = "shop\0--name\0two words";
    // argc, argv, NULL, envp, NULL, the vector, AT_RANDOM's bytes.
    const uint64_t words[] = { 3,  AT + 0x100, AT + 0x105, AT + 0x10c, 0, AT + 0x100, 0,
                               25, AT + 96,    0,          0,          0, 0x1111 };
    const struct fake_region regions[] = { { AT, words, sizeof(words) },
                                           { AT + 0x100, strings, sizeof(strings) } };
    struct fake_memory memory = { .regions = regions, .region_count = 2 };
    struct memory_reader reader = fake_memory_reader(&memory);
    struct core_file core = { .auxv = cursor_over(&words[7], 4 * sizeof(words[0])) };
    struct text out = { 0 };
    core_arguments_read(&core, &reader, &out);
    bool equal =
        out.size == sizeof(strings) && memcmp(out.bytes, strings, out.size) == 0;
    // Where the stack is missing, the note has the words.
    text_clear(&out);
    memory.region_count = 0;
    (void)snprintf(core.process.arguments, sizeof(core.process.arguments), "%s",
                   "shop  --name two");
    core_arguments_read(&core, &reader, &out);
    bool words_equal =
        out.size == 16 && memcmp(out.bytes, "shop\0--name\0two", 16) == 0;
    text_deinit(&out);

    assert_true(equal);
    assert_true(words_equal);
}

static void core_input_keeps_a_pipe_with_its_holes(void **state)
{
    (void)state;
    enum { BYTES = 3 << 20 };
    int ends[2];
    int fd = -1;
    struct stat info;
    assert_int_equal(pipe(ends), 0);
    pid_t writer = fork();
    if (writer == 0) {
        uint8_t *bytes = calloc(1, BYTES);
        bytes[70000] = 7;
        bytes[BYTES - 1] = 0;
        close(ends[0]);
        for (size_t at = 0; at < BYTES;) {
            ssize_t count = write(ends[1], bytes + at, BYTES - at);
            if (count <= 0)
                _exit(1);
            at += (size_t)count;
        }
        _exit(0);
    }
    close(ends[1]);
    enum ch_status status = core_input_keep(ends[0], "/tmp", &fd);
    close(ends[0]);
    uint8_t byte = 0;
    bool read_back = pread(fd, &byte, 1, 70000) == 1;
    bool measured = fstat(fd, &info) == 0;
    close(fd);

    assert_int_equal(status, CH_OK);
    assert_true(read_back && measured);
    assert_int_equal(byte, 7);
    assert_int_equal(info.st_size, BYTES);
    assert_int_equal(info.st_nlink, 0);
    assert_true(info.st_blocks * 512 < BYTES / 4);
}

static void core_input_goes_to_memory_where_the_folder_refuses(void **state)
{
    (void)state;
    int ends[2];
    int fd = -1;
    char word[4] = "";
    assert_int_equal(pipe(ends), 0);
    assert_int_equal(write(ends[1], "core", 4), 4);
    close(ends[1]);
    enum ch_status status = core_input_keep(ends[0], "/proc", &fd);
    close(ends[0]);
    bool read_back = pread(fd, word, 4, 0) == 4;
    close(fd);

    assert_int_equal(status, CH_OK);
    assert_true(read_back);
    assert_memory_equal(word, "core", 4);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(core_capture_has_threads_signal_and_registers),
        cmocka_unit_test(
            core_capture_takes_the_thread_with_the_signal_for_the_crashed_one),
        cmocka_unit_test(core_capture_survives_every_cut),
        cmocka_unit_test(core_capture_survives_every_flipped_bit),
        cmocka_unit_test(core_memory_is_the_core_then_the_file_then_nothing),
        cmocka_unit_test(link_map_walk_ends_on_a_list_that_goes_round),
        cmocka_unit_test(core_arguments_come_whole_from_the_stack),
        cmocka_unit_test(core_input_keeps_a_pipe_with_its_holes),
        cmocka_unit_test(core_input_goes_to_memory_where_the_folder_refuses),
    };
    return cmocka_run_group_tests_name("agent/core", tests, NULL, NULL);
}
