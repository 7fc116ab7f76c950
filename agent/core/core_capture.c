// SPDX-License-Identifier: Apache-2.0
#include "agent/core/core_capture.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "formats/debug/elf.h"
#include "images/image_frames.h"
#include "images/image_symbol.h"
#include "shared/signals.h"

void problem_texts_say(void *texts, const char *format, ...)
{
    struct problem_texts *all = texts;
    va_list arguments;
    char *text;
    if (all->count == CAPTURE_PROBLEMS_MAX)
        return;
    va_start(arguments, format);
    int size = vasprintf(&text, format, arguments);
    va_end(arguments);
    if (size < 0)
        return;
    all->texts[all->count++] = text;
    capture_problem(all->capture, all->stage, text, 0);
}

void problem_texts_deinit(struct problem_texts *texts)
{
    for (size_t i = 0; i < texts->count; i++)
        free(texts->texts[i]);
    texts->count = 0;
}

// FILE_LIMIT_BYTES bounds the files whose sections are read; larger ones go without.
#define FILE_LIMIT_BYTES ((size_t)512 << 20)

static bool read_section_file(struct core_image_file *file)
{
    static uint8_t block[64 << 10];
    file->bytes.limit_bytes = FILE_LIMIT_BYTES;
    for (off_t at = 0;;) {
        ssize_t count = pread(file->fd, block, sizeof(block), at);
        if (count < 0 && errno == EINTR)
            continue;
        if (count <= 0)
            return count == 0 && text_ok(&file->bytes);
        text_append(&file->bytes, block, (size_t)count);
        if (!text_ok(&file->bytes))
            return false;
        at += count;
    }
}

// file_of is the file that backs image, or NULL.
static struct core_image_file *file_of(struct core_images *all,
                                       const struct target_image *image)
{
    for (size_t i = 0; i < all->file_count; i++) {
        if (all->files[i].path == image->path)
            return &all->files[i];
    }
    return NULL;
}

// view_file reads the file on first use and opens a view of it.
static bool view_file(struct core_image_file *file, struct elf_view *out)
{
    if (file->bytes.size == 0 && !read_section_file(file))
        return false;
    return elf_view_init(out, file->bytes.bytes, file->bytes.size) == CH_OK;
}

void core_sections_add(struct core_images *all)
{
    for (size_t i = 0; i < all->images->count; i++) {
        struct target_image *image = &all->images->images[i];
        struct core_image_file *file = file_of(all, image);
        struct elf_view view;
        // The path names the file on the machine of the crash, which is not used here.
        image->file_fd = file != NULL ? file->fd : -1;
        if (file != NULL && image->eh_frame_hdr_size == 0 && view_file(file, &view))
            image_frames_take(&view, image, &all->images->unwind[i]);
    }
}

// core_sections_symbol is the address of the symbol name of a static program, or 0.
static uint64_t core_sections_symbol(struct core_images *all, const char *name)
{
    for (size_t i = 0; i < all->images->count; i++) {
        const struct target_image *image = &all->images->images[i];
        struct core_image_file *file = file_of(all, image);
        struct elf_view view;
        if (file == NULL || image->dynamic != 0 || !view_file(file, &view))
            continue;
        uint64_t vaddr = image_symbol_in_file(&view, name);
        if (vaddr != 0)
            return image->bias + vaddr;
    }
    return 0;
}

enum {
    WORD = 8,
    VECTOR_SEARCH_BYTES = 64 << 10, // AT_RANDOM's bytes are this near after the vector
    ENVIRONMENT_MAX = 16 << 10,     // variables
    ARGUMENTS_MAX = 4096,
    ARGUMENT_BYTES = 4096,
    ARGUMENTS_LIMIT_BYTES = 128 << 10,
    AT_RANDOM = 25,
};

// find_vector finds the auxiliary vector in memory. It searches downwards from the
// AT_RANDOM bytes, which the kernel puts shortly after the vector.
static bool find_vector(const struct core_file *core,
                        const struct memory_reader *memory, uint64_t *out)
{
    uint8_t bytes[2 * WORD];
    struct cursor vector = core->auxv;
    uint64_t random;
    const uint8_t *wanted = cursor_take(&vector, sizeof(bytes));
    if (wanted == NULL || core_file_auxv(core, AT_RANDOM, &random) != CH_OK)
        return false;
    uint64_t at = random & ~(uint64_t)(WORD - 1);
    for (uint64_t skip = 0; skip < VECTOR_SEARCH_BYTES && skip <= at; skip += WORD) {
        if (memory_read(memory, at - skip, bytes, sizeof(bytes)) != CH_OK)
            continue;
        if (memcmp(bytes, wanted, sizeof(bytes)) == 0) {
            *out = at - skip;
            return true;
        }
    }
    return false;
}

// back_over moves at back over a list of at most count pointers, to the word before the
// first, and returns how many there were. That word is the list's length where counted,
// otherwise NULL.
static bool back_over(const struct memory_reader *memory, uint64_t *at, uint64_t count,
                      bool counted, uint64_t *out_count)
{
    for (uint64_t i = 0; i <= count; i++) {
        uint64_t word;
        if (memory_read_word(memory, *at - WORD, &word) != CH_OK)
            return false;
        *at -= WORD;
        // envp is preceded by argv's NULL, and argv by argc, its length.
        if (counted ? word == i : word == 0) {
            *out_count = i;
            return true;
        }
    }
    return false;
}

// find_process_arguments finds argv. The stack holds argc, argv, NULL, envp, NULL and
// then the auxiliary vector.
static bool find_process_arguments(const struct core_file *core,
                                   const struct memory_reader *memory, uint64_t *out_at,
                                   uint64_t *out_count)
{
    uint64_t at;
    uint64_t variables;
    if (!find_vector(core, memory, &at) || at < WORD)
        return false;
    at -= WORD; // the NULL after envp
    if (!back_over(memory, &at, ENVIRONMENT_MAX, false, &variables) ||
        !back_over(memory, &at, ARGUMENTS_MAX, true, out_count))
        return false;
    *out_at = at + WORD;
    return true;
}

static bool append_arguments(const struct memory_reader *memory, uint64_t at,
                             uint64_t count, struct text *out)
{
    for (uint64_t i = 0; i < count && out->size < ARGUMENTS_LIMIT_BYTES; i++) {
        char argument[ARGUMENT_BYTES];
        uint64_t address;
        if (memory_read_word(memory, at + i * WORD, &address) != CH_OK)
            return false;
        // A longer argument is cut.
        enum ch_status status =
            memory_read_string(memory, address, argument, sizeof(argument));
        if (status != CH_OK && status != CH_ERR_TRUNCATED)
            return false;
        text_append(out, argument, strlen(argument) + 1);
    }
    return true;
}

void core_arguments_read(const struct core_file *core,
                         const struct memory_reader *memory, struct text *out)
{
    uint64_t at;
    uint64_t count;
    if (find_process_arguments(core, memory, &at, &count) && count != 0 &&
        append_arguments(memory, at, count, out))
        return;
    text_clear(out);
    const char *words = core->process.arguments;
    for (words += strspn(words, " "); *words != 0; words += strspn(words, " ")) {
        size_t size = strcspn(words, " ");
        text_append(out, words, size);
        text_append(out, "", 1);
        words += size;
    }
}

static void copy_registers(const struct core_thread *thread,
                           struct unwind_registers *out)
{
    _Static_assert((int)CORE_REGISTERS <= (int)UNWIND_REGISTERS, "all have a place");
    for (size_t i = 0; i < CORE_REGISTERS; i++)
        out->value[i] = thread->registers[i];
}

// note_rewound_in_core records the call that a thread of AArch64 waited in: the kernel
// had wound it back to the call's instruction (see stop_registers.c).
static void note_rewound_in_core(const struct core_capture *all,
                                 const struct memory_reader *memory,
                                 struct stopped_thread *thread)
{
    static const uint8_t svc[] = { 0x01, 0, 0, 0xd4 };
    enum { X8 = 8, PC = 32 };
    uint8_t code[sizeof(svc)];
    if (all->core.machine != ELF_AARCH64 ||
        memory_read(memory, thread->registers.value[PC], code, sizeof(code)) != CH_OK)
        return;
    bool waits = memcmp(code, svc, sizeof(svc)) == 0;
    thread->run_state = waits ? 'S' : 'R';
    if (waits)
        thread->call = (int64_t)thread->registers.value[X8];
}

static enum ch_status list_core_threads(struct core_capture *all)
{
    struct stop *stop = &all->capture.stop;
    const struct core_file *core = &all->core;
    stop->threads = calloc(core->thread_count + 1, sizeof(*stop->threads));
    if (stop->threads == NULL)
        return CH_ERR_NO_MEMORY;
    stop->count = core->thread_count;
    stop->capacity = core->thread_count;
    for (size_t i = 0; i < core->thread_count; i++) {
        const struct core_thread *from = &core->threads[i];
        struct stopped_thread *thread = &stop->threads[i];
        *thread = (struct stopped_thread){ .tid = (pid_t)from->tid,
                                           .state = STOP_STOPPED,
                                           .run_state = from->state,
                                           .flags = from->flags,
                                           .vectors = from->vectors,
                                           .call = from->call,
                                           .thread_pointer = from->thread_pointer,
                                           .gs_base = from->gs_base,
                                           .shadow_stack = from->shadow_stack };
        copy_registers(from, &thread->registers);
    }
    return CH_OK;
}

static void note_rewound_threads(struct core_capture *all)
{
    for (size_t i = 0; i < all->capture.stop.count; i++)
        note_rewound_in_core(all, &all->capture.reader, &all->capture.stop.threads[i]);
}

// fill_siginfo fills the members of siginfo_t's union that this kind of signal uses.
static void fill_siginfo(const struct core_signal *signal, siginfo_t *out)
{
    out->si_signo = signal->signal;
    out->si_code = signal->code;
    if (signal->code <= 0) {
        out->si_pid = (pid_t)signal->sender_pid;
        out->si_uid = signal->sender_uid;
        return;
    }
    out->si_addr = (void *)(uintptr_t)signal->address;
    if (signal->signal == SIGSEGV)
        out->si_pkey = signal->protection_key;
    if (signal->signal == SIGSYS)
        out->si_syscall = (int)signal->system_call;
}

// find_core_words finds where a static program's libraries keep their messages; the
// symbols of dynamic images can be looked up later.
static void find_core_words(struct core_capture *all)
{
    struct target_crash *crash = &all->crash;
    crash->places.abort_message = core_sections_symbol(&all->images, "__abort_msg");
    crash->places.assert_fail = core_sections_symbol(&all->images, "__assert_fail");
    crash->places.terminate = core_sections_symbol(&all->images, "_ZSt9terminatev");
    crash->places.set_terminate =
        core_sections_symbol(&all->images, "_ZSt13set_terminatePFvvE");
    crash->get_globals = core_sections_symbol(&all->images, "__cxa_get_globals");
}

// set_core_crash takes the first thread and its signal as the crash. A core made of a
// running process has no signal, and thus no crash.
static void set_core_crash(struct core_capture *all, const struct stat *info)
{
    const struct core_file *core = &all->core;
    struct target_crash *crash = &all->crash;
    if (core->thread_count == 0) {
        problem_texts_say(&all->problems, "the core has no threads");
        return;
    }
    const struct core_thread *thread = &core->threads[0];
    *crash = (struct target_crash){
        .tid = (pid_t)thread->tid,
        .flags = thread->flags,
        .thread_pointer = thread->thread_pointer,
        .gs_base = thread->gs_base,
        .shadow_stack = thread->shadow_stack,
        .vectors_of = thread->vectors,
        .signal_only = !core->has_signal,
        .realtime_ns = (uint64_t)info->st_mtim.tv_sec * UINT64_C(1000000000) +
                       (uint64_t)info->st_mtim.tv_nsec,
    };
    copy_registers(thread, &crash->registers);
    if (core->has_signal)
        fill_siginfo(&core->signal, &crash->info);
    else
        crash->info.si_signo = thread->signal;
    // The tag of the memory that a pointer with another tag led to.
    crash->has_memory_tag =
        core->machine == ELF_AARCH64 && target_crash_untag(&crash->info) &&
        core_file_tag(core, (uint64_t)(uintptr_t)crash->info.si_addr,
                      &crash->memory_tag) == CH_OK;
    // The kernel dumps core for these signals only; gcore also notes the signal that
    // stopped the process.
    if (!signal_in(SIGNALS_CRASH, crash->info.si_signo))
        return;
    all->capture.crash = crash;
}

static void set_host(struct core_capture *all, pid_t pid)
{
    struct host_facts *host = &all->capture.host;
    if (pid != 0) {
        facts_read_host(host, pid, NULL);
        return;
    }
    snprintf(host->names.machine, sizeof(host->names.machine), "%s",
             all->core.machine == ELF_X86_64 ? "x86_64" : "aarch64");
}

static void set_core_process(struct core_capture *all,
                             const struct core_options *options)
{
    const struct core_process *process = &all->core.process;
    struct process_facts *facts = &all->capture.process;
    if (options->facts != NULL) {
        *facts = *options->facts;
        return;
    }
    if (options->pid != 0) {
        facts_read_process(facts, options->pid, options->pid);
        return;
    }
    const char *executable = all->images.executable;
    *facts = (struct process_facts){ .pid = (pid_t)process->pid,
                                     .ppid = (pid_t)process->ppid,
                                     .uid = process->uid };
    if (executable != NULL)
        text_append_string(&facts->executable, executable);
    core_arguments_read(&all->core, &all->images.reader, &facts->arguments);
}

static void set_source(struct core_capture *all, pid_t pid)
{
    struct capture *capture = &all->capture;
    capture->tier = "record";
    capture->arch = unwind_arch_find(all->core.machine);
    capture->reader = all->images.reader;
    capture->stop.pid = (pid_t)all->core.process.pid;
    // While the process is still in /proc under the number that the core has for it,
    // the names of its threads can be read there.
    if (pid == 0 || pid != capture->stop.pid) {
        capture->core_name = all->core.process.name;
        return;
    }
    char path[32];
    (void)snprintf(path, sizeof(path), "/proc/%d/task", pid);
    int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    capture->stop.tasks_fd = fd > 0 ? fd : 0;
}

static enum ch_status read_core_parts(struct core_capture *all, int fd,
                                      const struct core_options *options)
{
    struct stat info;
    uint64_t begin = capture_clock_us();
    enum ch_status status = core_file_open(&all->core, fd);
    if (status == CH_OK)
        status = core_memory_init(&all->memory, &all->core);
    if (status != CH_OK)
        return status;
    if (fstat(fd, &info) != 0)
        return CH_ERR_IO;
    if (all->core.truncated)
        problem_texts_say(&all->problems,
                          "the core is cut: memory is missing that it should have");
    if (all->core.damaged)
        problem_texts_say(&all->problems,
                          "the core is damaged: some of its notes cannot be read");

    all->images = (struct core_images){ .core = &all->core,
                                        .places = &options->places,
                                        .memory = &all->memory,
                                        .say = problem_texts_say,
                                        .say_context = &all->problems,
                                        .images = &all->capture.images };
    status = core_images_find(&all->images);
    if (status == CH_OK)
        core_sections_add(&all->images);
    if (status == CH_OK)
        status = list_core_threads(all);
    if (status != CH_OK)
        return status;
    set_source(all, options->pid);
    note_rewound_threads(all);
    set_core_crash(all, &info);
    if (all->crash.info.si_signo == SIGABRT)
        find_core_words(all);
    set_core_process(all, options);
    set_host(all, options->pid);
    all->capture.timings.capture_us = capture_clock_us() - begin;
    return CH_OK;
}

static int by_thread_id(const void *left, const void *right)
{
    const struct stopped_thread *a = left;
    const struct stopped_thread *b = right;
    return (a->tid > b->tid) - (a->tid < b->tid);
}

// take_dumped captures the process as a live one, whose threads the kernel holds.
static enum ch_status take_dumped(struct core_capture *all,
                                  struct dumped_process *dumped)
{
    struct capture *capture = &all->capture;
    struct target_crash *crash = &all->crash;
    // What dumped has is the capture's from here on.
    capture->stop.pid = dumped->pid;
    capture->stop.traced = true;
    capture->stop.tasks_fd = dumped->tasks_fd > 0 ? dumped->tasks_fd : 0;
    capture->dumped = dumped->tid;
    capture->memory_fd = dumped->memory_fd;
    capture->process = dumped->facts;
    capture->host = dumped->host;
    dumped->facts = (struct process_facts){ 0 };
    dumped->host = (struct host_facts){ 0 };
    dumped->memory_fd = -1;
    dumped->tasks_fd = -1;
    crash->dies = true;
    crash->monotonic_ns = clock_now_ns(CLOCK_MONOTONIC);
    crash->fault_trap = target_crash_guess_trap(&crash->info);
    enum ch_status status = capture_take(capture, capture->stop.pid);
    if (status != CH_OK)
        return status;
    note_rewound_threads(all);
    all->context = calloc(1, sizeof(*all->context));
    if (all->context != NULL && context_find(capture, all->context) == CH_OK)
        capture->context = all->context;
    return CH_OK;
}

// read_dumped takes threads and the crash from the notes, and all else from the
// process.
static enum ch_status read_dumped(struct core_capture *all, int fd,
                                  const struct core_options *options)
{
    struct stat info;
    enum ch_status status = core_file_open(&all->core, fd);
    if (status != CH_OK)
        return status;
    if (fstat(fd, &info) != 0)
        return CH_ERR_IO;
    if (all->core.damaged || all->core.notes.size == 0)
        problem_texts_say(&all->problems,
                          "some notes of the core that the kernel wrote are missing");
    status = list_core_threads(all);
    if (status != CH_OK)
        return status;
    set_core_crash(all, &info);
    // The kernel lists them by age, the newest first.
    qsort(all->capture.stop.threads, all->capture.stop.count,
          sizeof(*all->capture.stop.threads), by_thread_id);
    return take_dumped(all, options->dumped);
}

enum ch_status core_capture_open(struct core_capture *all, int fd,
                                 const struct core_options *options)
{
    *all = (struct core_capture){
        .core = { .fd = -1 },
        .problems = { .capture = &all->capture, .stage = "core" },
        .capture = { .settings = options->settings,
                     .home = options->home,
                     .memory = { .mem_fd = -1 } },
    };
    enum ch_status status = options->dumped != NULL ? read_dumped(all, fd, options)
                                                    : read_core_parts(all, fd, options);
    if (status != CH_OK)
        core_capture_close(all);
    return status;
}

void core_capture_close(struct core_capture *all)
{
    capture_deinit(&all->capture);
    core_images_deinit(&all->images);
    core_memory_deinit(&all->memory);
    core_file_close(&all->core);
    problem_texts_deinit(&all->problems);
    free(all->context);
}
