// SPDX-License-Identifier: Apache-2.0
//
// stepper PROGRAM EVERY SEED LIMIT: runs PROGRAM from its first trap to its second, one
// instruction at a time, and prints a line for each stop that is chosen:
//
//   STOP PC|SFRAME|DWARF|LIBUNWIND
//
// after lines `code START END` for the executable mappings. STOP counts all
// instructions; the three are our frames' addresses by each way to unwind, each with
// what it rests on, and how the walk ended. In the program itself every stop is chosen,
// in libraries one of EVERY, by SEED. gdb_steps.py chooses the same.
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/personality.h>
#include <sys/ptrace.h>
#include <sys/uio.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <unistd.h>

#include "images/image_frames.h"
#include "images/images.h"
#include "unwind/unwind.h"

struct stepper {
    pid_t pid;
    int status; // of the last wait
    struct memory_reader memory;
    struct target_images images;
    struct unwind_space *space;
    uint64_t program_start;
    uint64_t program_end;
    uint64_t every;
    uint64_t seed;
    uint64_t limit;
};

static void die(const char *what)
{
    fprintf(stderr, "stepper: %s: %s\n", what, strerror(errno));
    exit(1);
}

// read_process has no cache: the program runs between stops.
static size_t read_process(void *source, uint64_t address, void *to, size_t length)
{
    struct stepper *s = source;
    struct iovec local = { .iov_base = to, .iov_len = length };
    struct iovec remote = { .iov_base = (void *)(uintptr_t)address, .iov_len = length };
    ssize_t count = process_vm_readv(s->pid, &local, 1, &remote, 1, 0);
    return count > 0 ? (size_t)count : 0;
}

static void start(struct stepper *s, char *program)
{
    char *arguments[] = { program, NULL };
    char locale[] = "LC_ALL=C";
    char *environment[] = { locale, NULL };
    s->pid = fork();
    if (s->pid == 0) {
        personality(ADDR_NO_RANDOMIZE);
        ptrace(PTRACE_TRACEME, 0, NULL, NULL);
        execve(program, arguments, environment);
        _exit(127);
    }
    if (waitpid(s->pid, &s->status, 0) != s->pid || !WIFSTOPPED(s->status))
        die(program);
    ptrace(PTRACE_SETOPTIONS, s->pid, NULL, (void *)PTRACE_O_EXITKILL);
}

// run_to_trap runs to the first mark, passing signals on.
static void run_to_trap(struct stepper *s)
{
    int number = 0;
    do {
        if (ptrace(PTRACE_CONT, s->pid, NULL, (void *)(intptr_t)number) != 0 ||
            waitpid(s->pid, &s->status, 0) != s->pid || !WIFSTOPPED(s->status))
            die("no trap");
        number = WSTOPSIG(s->status);
    } while (number != SIGTRAP);
}

static struct unwind_registers read_registers(const struct stepper *s)
{
    struct user_regs_struct r;
    if (ptrace(PTRACE_GETREGS, s->pid, NULL, &r) != 0)
        die("registers");
    return (struct unwind_registers){ { r.rax, r.rdx, r.rcx, r.rbx, r.rsi, r.rdi, r.rbp,
                                        r.rsp, r.r8, r.r9, r.r10, r.r11, r.r12, r.r13,
                                        r.r14, r.r15, r.rip } };
}

static void prepare(struct stepper *s)
{
    s->memory = (struct memory_reader){ .read = read_process, .source = s };
    if (images_read(&s->images, s->pid, &s->memory) != CH_OK ||
        images_list_for_unwinder(&s->images) != CH_OK)
        die("images");
    image_frames_find(&s->images, s->pid);
    if (unwind_space_create(unwind_arch_native(), &s->memory, s->images.unwind,
                            s->images.count, &s->space) != CH_OK)
        die("images");
    unwind_space_set_code(s->space, images_is_code, &s->images);
    const struct target_image *program =
        images_find(&s->images, read_registers(s).value[UNWIND_PC]);
    for (size_t i = 0; i < s->images.mapping_count; i++) {
        const struct target_mapping *mapping = &s->images.mappings[i];
        if (images_is_code(&s->images, mapping->start))
            printf("code %lx %lx\n", mapping->start, mapping->end);
    }
    s->program_start = program->base;
    s->program_end = program->end;
}

// chosen is the same function of stop and PC as in gdb_steps.py.
static bool chosen(const struct stepper *s, uint64_t stop, uint64_t pc)
{
    if (pc >= s->program_start && pc < s->program_end)
        return true;
    return (stop * 2654435761u + s->seed) % 4294967296u % s->every == 0;
}

static bool print_frame(void *context, const struct unwind_frame *frame,
                        const struct unwind_state *state)
{
    (void)state;
    (void)context;
    printf(" %lx/%s", frame->address, unwind_trust_name(frame->trust));
    return true;
}

static void print_walk(struct stepper *s, const struct unwind_registers *registers,
                       enum setting_unwind how)
{
    enum unwind_end end = unwind_walk(s->space, registers, how, print_frame, NULL);
    printf(" %s", unwind_end_name(end));
}

static void print_stop(struct stepper *s, uint64_t stop,
                       const struct unwind_registers *registers)
{
    printf("%lu %lx|", stop, registers->value[UNWIND_PC]);
    print_walk(s, registers, SETTING_UNWIND_AUTO);
    putchar('|');
    print_walk(s, registers, SETTING_UNWIND_DWARF);
    putchar('|');
    print_walk(s, registers, SETTING_UNWIND_LIBUNWIND);
    putchar('\n');
}

// at_mark returns true if the stop was made by a trap instruction rather than a step.
static bool at_mark(const struct stepper *s)
{
    siginfo_t info;
    return ptrace(PTRACE_GETSIGINFO, s->pid, NULL, &info) == 0 &&
           info.si_code == SI_KERNEL;
}

static void step_through(struct stepper *s)
{
    int number = 0;
    uint64_t printed = 0;
    for (uint64_t stop = 0; printed < s->limit; stop++) {
        struct unwind_registers registers = read_registers(s);
        if (chosen(s, stop, registers.value[UNWIND_PC])) {
            print_stop(s, stop, &registers);
            printed++;
        }
        // A signal stops the program before the instruction; its handler's first one
        // comes with the next step.
        do {
            if (ptrace(PTRACE_SINGLESTEP, s->pid, NULL, (void *)(intptr_t)number) !=
                    0 ||
                waitpid(s->pid, &s->status, 0) != s->pid || !WIFSTOPPED(s->status))
                die("step");
            number = WSTOPSIG(s->status);
        } while (number != SIGTRAP);
        number = 0;
        if (at_mark(s))
            return;
    }
}

int main(int argc, char **argv)
{
    struct stepper s = { 0 };
    if (argc != 5) {
        fprintf(stderr, "usage: stepper PROGRAM EVERY SEED LIMIT\n");
        return 2;
    }
    s.every = strtoull(argv[2], NULL, 10);
    s.seed = strtoull(argv[3], NULL, 10);
    s.limit = strtoull(argv[4], NULL, 10);
    if (s.every == 0)
        s.every = 1;
    start(&s, argv[1]);
    run_to_trap(&s);
    prepare(&s);
    step_through(&s);
    unwind_space_destroy(s.space);
    images_deinit(&s.images);
    kill(s.pid, SIGKILL);
    return 0;
}
