// SPDX-License-Identifier: Apache-2.0
#include "agent/core/core_capture.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "agent/core/core_arguments.h"
#include "agent/core/core_sections.h"
#include "formats/debug/elf.h"
#include "shared/signals.h"

static void copy_registers(const struct core_thread *thread,
                           struct unwind_registers *out)
{
    _Static_assert((int)CORE_REGISTERS <= (int)UNWIND_REGISTERS, "all have a place");
    for (size_t i = 0; i < CORE_REGISTERS; i++)
        out->value[i] = thread->registers[i];
}

// note_rewound_call records the call that a thread of AArch64 waited in: the kernel had
// wound it back to the call's instruction (see stop_registers.c).
static void note_rewound_call(const struct core_capture *all,
                              struct stopped_thread *thread)
{
    static const uint8_t svc[] = { 0x01, 0, 0, 0xd4 };
    enum { X8 = 8, PC = 32 };
    uint8_t code[sizeof(svc)];
    if (all->core.machine != ELF_AARCH64 ||
        memory_read(&all->images.reader, thread->registers.value[PC], code,
                    sizeof(code)) != CH_OK)
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
                                           .thread_pointer = from->thread_pointer };
        copy_registers(from, &thread->registers);
        note_rewound_call(all, thread);
    }
    return CH_OK;
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

// find_core_words finds where a static program's libraries keep their messages; dynamic
// images can be asked for these symbols later.
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
    // The kernel dumps core for these signals only; gcore also notes the signal that
    // stopped the process.
    if (!signal_in(SIGNALS_CRASH, crash->info.si_signo))
        return;
    if (crash->info.si_signo == SIGABRT)
        find_core_words(all);
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
    set_core_crash(all, &info);
    set_core_process(all, options);
    set_host(all, options->pid);
    all->capture.timings.capture_us = capture_clock_us() - begin;
    return CH_OK;
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
    enum ch_status status = read_core_parts(all, fd, options);
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
}
