// SPDX-License-Identifier: Apache-2.0
//
// Captures in any context: in signal handlers, on stacks of the program's own, in
// sandboxes.
#include "crashhook/backtrace.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <ucontext.h>
#include <unistd.h>

#include "support/test.h"

#define KEEP_FRAME() __asm__ volatile("")

enum { ROOM = 256 };

struct raw {
    uint64_t addresses[ROOM];
    size_t count;
    enum crashhook_raw_end end;
};

static struct crashhook_raw_options options_of(struct raw *out)
{
    struct crashhook_raw_options options = CRASHHOOK_RAW_DEFAULTS;
    options.end = &out->end;
    return options;
}

__attribute__((noinline)) static void descend(unsigned depth, struct raw *out)
{
    if (depth != 0) {
        descend(depth - 1, out);
    } else {
        struct crashhook_raw_options options = options_of(out);
        out->count = crashhook_backtrace_capture_raw(out->addresses, ROOM, &options);
    }
    KEEP_FRAME();
}

// is_in returns true if an address is in the first bytes of a function.
static bool is_in(uint64_t address, uint64_t function)
{
    enum { FUNCTION_BYTES = CRASHHOOK_SANITIZED ? 4096 : 512 };
    return address >= function && address - function < FUNCTION_BYTES;
}

static void raw_addresses_are_those_of_an_ordinary_capture(void **state)
{
    (void)state;
    struct raw raw;
    struct crashhook_backtrace *backtrace;
    struct crashhook_frame frame;
    descend(0, &raw);
    assert_int_equal(crashhook_backtrace_capture(NULL, &backtrace), 0);
    struct crashhook_frames frames = crashhook_backtrace_frames(backtrace);
    size_t count = 0;
    size_t same = 0;
    while (crashhook_frames_next(&frames, &frame)) {
        // The raw one has one more frame, and this function's is another call.
        same += count > 0 && raw.addresses[count + 1] == frame.address.bits;
        count++;
    }
    crashhook_backtrace_destroy(backtrace);
    assert_int_equal(raw.end, CRASHHOOK_RAW_COMPLETE);
    assert_int_equal(raw.count, count + 1);
    assert_int_equal(same, count - 1);
}

static void a_full_buffer_ends_the_capture(void **state)
{
    (void)state;
    uint64_t three[4] = { 1, 2, 3, 4 };
    enum crashhook_raw_end end;
    struct crashhook_raw_options options = CRASHHOOK_RAW_DEFAULTS;
    options.end = &end;
    assert_int_equal(crashhook_backtrace_capture_raw(three, 3, &options), 3);
    assert_int_equal(end, CRASHHOOK_RAW_FULL);
    assert_int_equal(three[3], 4);
    assert_int_equal(crashhook_backtrace_capture_raw(three, 0, &options), 0);
}

static void invalid_options_capture_nothing(void **state)
{
    (void)state;
    uint64_t one[1];
    enum crashhook_raw_end end;
    struct crashhook_raw_options options = CRASHHOOK_RAW_DEFAULTS;
    options.end = &end;
    options.algorithm = (enum crashhook_unwind_algorithm)9;
    assert_int_equal(crashhook_backtrace_capture_raw(one, 1, &options), 0);
    assert_int_equal(end, CRASHHOOK_RAW_INVALID);
    options.size++;
    assert_int_equal(crashhook_backtrace_capture_raw(one, 1, &options), 0);
}

// What a handler captures: from itself, and from where the signal arrived.
static struct raw in_handler;
static struct raw from_context;
static uint8_t cbf_bytes[ROOM * 9];
static size_t cbf_size;
static int errno_after;

static void capture_in_handler(int signal, siginfo_t *info, void *context)
{
    struct crashhook_raw_options options = options_of(&in_handler);
    (void)signal;
    (void)info;
    const int before = errno;
    errno = 77;
    in_handler.count =
        crashhook_backtrace_capture_raw(in_handler.addresses, ROOM, &options);
    options = options_of(&from_context);
    options.context = context;
    from_context.count =
        crashhook_backtrace_capture_raw(from_context.addresses, ROOM, &options);
    options = (struct crashhook_raw_options)CRASHHOOK_RAW_DEFAULTS;
    options.cbf = true;
    cbf_size = crashhook_backtrace_capture_raw((uint64_t *)(void *)cbf_bytes,
                                               sizeof(cbf_bytes) / 8, &options);
    errno_after = errno;
    errno = before;
}

static void install(int flags)
{
#if defined(__SANITIZE_THREAD__)
    test_skip("ThreadSanitizer delays signals");
#endif
    struct sigaction action = { .sa_sigaction = capture_in_handler,
                                .sa_flags = SA_SIGINFO | flags };
    sigaction(SIGUSR1, &action, NULL);
}

__attribute__((noinline)) static void raise_here(void)
{
    syscall(SYS_tgkill, getpid(), syscall(SYS_gettid), SIGUSR1);
    KEEP_FRAME();
}

static size_t find_function(const struct raw *raw, uint64_t function)
{
    size_t at = 0;
    while (at < raw->count && !is_in(raw->addresses[at], function))
        at++;
    return at;
}

static void check_handler_captures(void)
{
    size_t at = find_function(&in_handler, (uintptr_t)raise_here);
    size_t from = find_function(&from_context, (uintptr_t)raise_here);
    assert_int_equal(errno_after, 77);
    assert_true(is_in(in_handler.addresses[0], (uintptr_t)capture_in_handler));
    assert_int_equal(in_handler.end, CRASHHOOK_RAW_COMPLETE);
    assert_int_equal(from_context.end, CRASHHOOK_RAW_COMPLETE);
    assert_true(from <= 2); // only syscall() is further in
    assert_true(at < in_handler.count);
    assert_int_equal(in_handler.count - at, from_context.count - from);
    assert_memory_equal(in_handler.addresses + at, from_context.addresses + from,
                        (from_context.count - from) * sizeof(uint64_t));
}

static void a_handler_captures_itself_and_what_it_interrupted(void **state)
{
    (void)state;
    install(0);
    raise_here();
    check_handler_captures();
}

static void a_handler_on_an_alternate_stack_captures_both_stacks(void **state)
{
    (void)state;
    enum { BYTES = 64 << 10 };
    static char bytes[BYTES];
    const stack_t alternate = { .ss_sp = bytes, .ss_size = BYTES };
    assert_int_equal(sigaltstack(&alternate, NULL), 0);
    install(SA_ONSTACK);
    raise_here();
    const stack_t none = { .ss_flags = SS_DISABLE };
    sigaltstack(&none, NULL);
    check_handler_captures();
}

static void cbf_says_which_frame_a_signal_interrupted(void **state)
{
    (void)state;
    install(0);
    raise_here();
    struct crashhook_backtrace *backtrace;
    struct crashhook_frame frame;
    size_t interrupted = 0;
    size_t count = 0;
    int error = crashhook_backtrace_from_cbf(cbf_bytes, cbf_size, NULL, &backtrace);
    assert_int_equal(error, 0);
    struct crashhook_frames frames = crashhook_backtrace_frames(backtrace);
    for (; crashhook_frames_next(&frames, &frame); count++)
        interrupted += frame.kind == CRASHHOOK_FRAME_PROGRAM_COUNTER;
    crashhook_backtrace_destroy(backtrace);
    assert_int_equal(count, in_handler.count);
    assert_int_equal(interrupted, 1);
}

static void *capture_unprepared(void *raw)
{
    descend(10, raw);
    return NULL;
}

static void *capture_prepared(void *raw)
{
    if (crashhook_backtrace_thread_prepare() == 0)
        descend(10, raw);
    return NULL;
}

static void a_thread_needs_no_preparation(void **state)
{
    (void)state;
    pthread_t thread;
    struct raw first;
    struct raw second;
    assert_int_equal(pthread_create(&thread, NULL, capture_unprepared, &first), 0);
    pthread_join(thread, NULL);
    assert_int_equal(pthread_create(&thread, NULL, capture_prepared, &second), 0);
    pthread_join(thread, NULL);
    assert_int_equal(first.end, CRASHHOOK_RAW_COMPLETE);
    assert_int_equal(second.end, CRASHHOOK_RAW_COMPLETE);
    assert_true(first.count > 12);
    assert_int_equal(first.count, second.count);
    for (size_t i = 1; i < 11; i++) // those of descend
        assert_int_equal(first.addresses[i], second.addresses[i]);
}

// A fiber's stack, between two pages that nobody may read.
static ucontext_t main_context;
static ucontext_t fiber_context;
static struct raw in_fiber;

static void run_fiber(void)
{
    descend(5, &in_fiber);
    KEEP_FRAME();
}

static void a_capture_ends_with_the_stack_of_a_fiber(void **state)
{
    (void)state;
    enum { PAGE = 4096, BYTES = 16 * PAGE };
    char *area =
        mmap(NULL, BYTES + 2 * PAGE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    assert_ptr_not_equal(area, MAP_FAILED);
    assert_int_equal(mprotect(area + PAGE, BYTES, PROT_READ | PROT_WRITE), 0);
    getcontext(&fiber_context);
    fiber_context.uc_stack.ss_sp = area + PAGE;
    fiber_context.uc_stack.ss_size = BYTES;
    fiber_context.uc_link = &main_context;
    makecontext(&fiber_context, run_fiber, 0);
    swapcontext(&main_context, &fiber_context);
    munmap(area, BYTES + 2 * PAGE);
    assert_true(in_fiber.count >= 7 && in_fiber.count <= 9);
    assert_true(in_fiber.end != CRASHHOOK_RAW_FULL);
    assert_true(is_in(in_fiber.addresses[6], (uintptr_t)run_fiber));
}

// A sandbox is a filter for system calls: those in `allowed` are, all others get
// `action`; or the reverse.
static void enter_sandbox(const unsigned *listed, size_t count, unsigned of_listed,
                          unsigned of_others)
{
    struct sock_filter filter[16] = { BPF_STMT(BPF_LD | BPF_W | BPF_ABS,
                                               offsetof(struct seccomp_data, nr)) };
    unsigned short size = 1;
    for (size_t i = 0; i < count; i++) {
        filter[size++] =
            (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, listed[i], 0, 1);
        filter[size++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, of_listed);
    }
    filter[size++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, of_others);
    const struct sock_fprog program = { size, filter };
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 ||
        prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) != 0)
        _exit(2);
}

// run_in_child gives the status of a child that runs a function.
static int run_in_child(int (*run)(void))
{
    int status = -1;
    pid_t child = fork();
    if (child == 0)
        _exit(run());
    waitpid(child, &status, 0);
    return status;
}

// has_seccomp returns true if there are filters: an emulator of programs has none.
static bool has_seccomp(void)
{
    return prctl(PR_GET_SECCOMP) >= 0;
}

static int capture_without_any_system_call(void)
{
    static const unsigned allowed[] = { SYS_exit_group };
    struct raw before;
    struct raw raw;
    descend(20, &before);
    enter_sandbox(allowed, 1, SECCOMP_RET_ALLOW, SECCOMP_RET_KILL_PROCESS);
    descend(20, &raw);
    return raw.count == before.count && raw.end == CRASHHOOK_RAW_COMPLETE ? 0 : 1;
}

static void a_prepared_thread_captures_without_any_system_call(void **state)
{
    (void)state;
    if (CRASHHOOK_SANITIZED)
        test_skip("a sanitizer makes system calls itself");
    if (!has_seccomp())
        test_skip("there are no filters for system calls here");
    assert_int_equal(run_in_child(capture_without_any_system_call), 0);
}

static unsigned sandbox_action;

// capture_here makes two captures come from the same address.
__attribute__((noinline)) static int capture_here(struct crashhook_backtrace **out)
{
    struct crashhook_capture_options options = CRASHHOOK_CAPTURE_DEFAULTS;
    options.offset = 1;
    int error = crashhook_backtrace_capture(&options, out);
    KEEP_FRAME();
    return error;
}

// named_text gives the names of a backtrace as text, to be freed, or NULL.
static char *named_text(const struct crashhook_backtrace *backtrace)
{
    struct crashhook_symbolicated_backtrace *named;
    if (crashhook_backtrace_symbolicate(backtrace, NULL,
                                        CRASHHOOK_SYMBOLICATION_DEFAULT, &named) != 0)
        return NULL;
    char *text =
        crashhook_symbolicated_backtrace_format(named, CRASHHOOK_FORMAT_FRIENDLY);
    crashhook_symbolicated_backtrace_destroy(named);
    return text;
}

// compare_captures compares ordinary captures and their names before and after enter,
// which gives the status to exit with, or 0. If `reopens`, the second ones list images
// and open files again.
__attribute__((noinline)) static int compare_captures(int (*enter)(void), bool reopens)
{
    struct crashhook_backtrace *backtrace[2];
    char *text[2];
    size_t size[2];
    for (volatile int i = 0; i < 2; i++) {
        if (capture_here(&backtrace[i]) != 0)
            return 3;
        text[i] = named_text(backtrace[i]);
        if (reopens)
            crashhook_backtrace_cache_release();
        int status = i == 0 ? enter() : 0;
        if (status != 0)
            return status;
        // The list of images is made again when it has changed.
        if (reopens && i == 0 && dlopen(SMALL_FRAMES, RTLD_NOW) == NULL)
            return 5;
    }
    const uint8_t *first = crashhook_backtrace_cbf(backtrace[0], &size[0]);
    const uint8_t *second = crashhook_backtrace_cbf(backtrace[1], &size[1]);
    bool same =
        size[0] == size[1] && size[0] > 10 && memcmp(first, second, size[0]) == 0;
    bool same_names = text[0] != NULL && text[1] != NULL &&
                      strstr(text[0], "compare_captures") != NULL &&
                      strcmp(text[0], text[1]) == 0;
    struct crashhook_images *images = crashhook_backtrace_images(backtrace[1]);
    return same && same_names && crashhook_images_count(images) > 2 ? 0 : 1;
}

// refuse_calls refuses to read memory by system calls, and to open files.
static int refuse_calls(void)
{
    static const unsigned refused[] = { SYS_process_vm_readv, SYS_pipe2, SYS_openat,
                                        SYS_prctl, SYS_ptrace };
    enter_sandbox(refused, 5, sandbox_action, SECCOMP_RET_ALLOW);
    return 0;
}

static int capture_in_sandbox(void)
{
    return compare_captures(refuse_calls, false);
}

static void a_sandbox_changes_nothing(void **state)
{
    (void)state;
    static const unsigned actions[] = { SECCOMP_RET_ERRNO | EPERM, SECCOMP_RET_TRAP,
                                        SECCOMP_RET_KILL_PROCESS };
    if (!has_seccomp())
        test_skip("there are no filters for system calls here");
    for (size_t i = 0; i < sizeof(actions) / sizeof(actions[0]); i++) {
        sandbox_action = actions[i];
        assert_int_equal(run_in_child(capture_in_sandbox), 0);
    }
}

// limit_resources allows no more memory, files or processes.
static int limit_resources(void)
{
    static const int limited[] = { RLIMIT_AS,     RLIMIT_DATA,  RLIMIT_STACK,
                                   RLIMIT_NOFILE, RLIMIT_NPROC, RLIMIT_FSIZE };
    const struct rlimit none = { .rlim_cur = 0 };
    for (size_t i = 0; i < sizeof(limited) / sizeof(limited[0]); i++)
        if (setrlimit((__rlimit_resource_t)limited[i], &none) != 0)
            return 4;
    return 0;
}

static int capture_without_resources(void)
{
    return compare_captures(limit_resources, false);
}

static void limits_of_resources_change_nothing(void **state)
{
    (void)state;
    if (CRASHHOOK_SANITIZED)
        test_skip("a sanitizer needs more memory");
    assert_int_equal(run_in_child(capture_without_resources), 0);
}

static int hide_proc(void)
{
    if (unshare(CLONE_NEWUSER | CLONE_NEWNS) != 0 ||
        mount("none", "/proc", "tmpfs", 0, NULL) != 0)
        return 77;
    return access("/proc/self/maps", F_OK) == 0 ? 4 : 0;
}

static int capture_without_proc(void)
{
    return compare_captures(hide_proc, true);
}

// hide_processes goes on in a process of a namespace of its own.
static int hide_processes(void)
{
    int status = -1;
    if (unshare(CLONE_NEWUSER | CLONE_NEWNS | CLONE_NEWPID) != 0)
        return 77;
    pid_t child = fork(); // the first process of the new namespace
    if (child == 0)
        return mount("proc", "/proc", "proc", 0, "hidepid=2") == 0 ? 0 : 77;
    waitpid(child, &status, 0);
    _exit(WIFEXITED(status) ? WEXITSTATUS(status) : 4);
}

static int capture_with_hidden_processes(void)
{
    return compare_captures(hide_processes, true);
}

static void check_in_namespace(int (*run)(void))
{
    int status = run_in_child(run);
    if (WIFEXITED(status) && WEXITSTATUS(status) == 77)
        test_skip("namespaces are not allowed here");
    assert_int_equal(status, 0);
}

static void hidden_processes_change_nothing(void **state)
{
    (void)state;
    check_in_namespace(capture_with_hidden_processes);
}

static void no_file_of_proc_is_needed(void **state)
{
    (void)state;
    check_in_namespace(capture_without_proc);
}

static void what_is_written_has_the_images_and_offsets(void **state)
{
    (void)state;
    char text[8192] = { 0 };
    unsigned long long address;
    unsigned long long offset;
    char path[512];
    Dl_info self;
    int ends[2];
    assert_int_equal(pipe(ends), 0);
    int error = crashhook_backtrace_write(ends[1]);
    close(ends[1]);
    ssize_t size = read(ends[0], text, sizeof(text) - 1);
    close(ends[0]);
    assert_int_equal(error, 0);
    assert_true(size > 0);
    assert_int_equal(
        sscanf(text, "#0 0x%16llx %511[^+]+0x%llx\n", &address, path, &offset), 3);
    assert_int_not_equal(dladdr((void *)(uintptr_t)address, &self), 0);
    assert_int_equal(offset, address - (uintptr_t)self.dli_fbase);
    assert_non_null(strstr(path, "test_backtrace_raw"));
#if !defined(_dl_find_object) // a table has no names of libraries
    assert_non_null(strstr(text, "libc.so.6+0x"));
#endif
    assert_int_equal(crashhook_backtrace_write(-1), EBADF);
}

// capture_by calls a function of the library at path, which calls descend.
static void capture_by(const char *path, struct raw *out)
{
    void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    void *found = library != NULL ? dlsym(library, "call_from_library") : NULL;
    void (*call)(void (*)(unsigned, struct raw *), struct raw *);
    memcpy(&call, &found, sizeof(found));
    assert_non_null(found);
    call(descend, out);
    call(descend, out); // by the steps that the first one made
    dlclose(library);
}

static void rules_of_a_library_go_with_it(void **state)
{
    (void)state;
#if defined(_dl_find_object)
    test_skip("a library is found after the next ordinary capture alone");
#endif
    struct raw small;
    struct raw large;
    // Both have the same functions at the same places, with frames of other sizes.
    for (int i = 0; i < 4; i++) {
        capture_by(SMALL_FRAMES, &small);
        capture_by(LARGE_FRAMES, &large);
        assert_int_equal(small.end, CRASHHOOK_RAW_COMPLETE);
        assert_int_equal(large.end, CRASHHOOK_RAW_COMPLETE);
        assert_int_equal(small.count, large.count);
    }
}

static void functions_without_rules_are_left_by_their_code(void **state)
{
    (void)state;
#if defined(_dl_find_object)
    test_skip("a library is found after the next ordinary capture alone");
#endif
    // Called by way of a pointer, it is inlined in neither place.
    void (*const volatile capture)(const char *, struct raw *) = capture_by;
    struct raw with_rules;
    struct raw without;
    capture(SMALL_FRAMES, &with_rules);
    capture(NO_RULES, &without);
    assert_int_equal(without.end, CRASHHOOK_RAW_COMPLETE);
    assert_int_equal(without.count, with_rules.count);
}

#if defined(__x86_64__)
// call_with_record calls function while the frame pointer is the address of a record of
// its own, as in functions that use the register for something else.
void call_with_record(const uint64_t *record, void (*function)(struct raw *),
                      struct raw *argument);
__asm__(".text\n"
        ".type call_with_record, @function\n"
        "call_with_record:\n\t"
        ".cfi_startproc\n\t"
        "pushq %rbp\n\t"
        ".cfi_def_cfa_offset 16\n\t"
        ".cfi_offset %rbp, -16\n\t"
        "movq %rdi, %rbp\n\t"
        "movq %rdx, %rdi\n\t"
        "call *%rsi\n\t"
        "popq %rbp\n\t"
        ".cfi_restore %rbp\n\t"
        ".cfi_def_cfa_offset 8\n\t"
        "ret\n\t"
        ".cfi_endproc\n"
        ".size call_with_record, . - call_with_record\n");

__attribute__((noinline)) static void capture_fast(struct raw *out)
{
    struct crashhook_raw_options options = options_of(out);
    options.algorithm = CRASHHOOK_UNWIND_FAST;
    out->count = crashhook_backtrace_capture_raw(out->addresses, ROOM, &options);
    KEEP_FRAME();
}

static int capture_false_record_without_system_calls(void)
{
    static const unsigned allowed[] = { SYS_exit_group };
    const uint64_t record[2] = { 0, UINT64_C(0x123456789) };
    struct raw direct;
    struct raw raw;
    capture_fast(&direct);
    if (has_seccomp())
        enter_sandbox(allowed, 1, SECCOMP_RET_ALLOW, SECCOMP_RET_KILL_PROCESS);
    for (int i = 0; i < 2; i++) // the second one by the steps of the first one
        call_with_record(record, capture_fast, &raw);
    return raw.end == direct.end && raw.count == direct.count + 1 ? 0 : 1;
}
#endif

static void a_false_frame_record_is_left_by_rules(void **state)
{
    (void)state;
#if defined(__x86_64__)
    if (CRASHHOOK_SANITIZED)
        test_skip("a sanitizer makes system calls itself");
    assert_int_equal(run_in_child(capture_false_record_without_system_calls), 0);
#else
    test_skip("the stack pointer is not known after a frame record");
#endif
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(raw_addresses_are_those_of_an_ordinary_capture),
        cmocka_unit_test(a_full_buffer_ends_the_capture),
        cmocka_unit_test(invalid_options_capture_nothing),
        cmocka_unit_test(a_handler_captures_itself_and_what_it_interrupted),
        cmocka_unit_test(a_handler_on_an_alternate_stack_captures_both_stacks),
        cmocka_unit_test(cbf_says_which_frame_a_signal_interrupted),
        cmocka_unit_test(a_thread_needs_no_preparation),
        cmocka_unit_test(a_capture_ends_with_the_stack_of_a_fiber),
        cmocka_unit_test(a_prepared_thread_captures_without_any_system_call),
        cmocka_unit_test(a_sandbox_changes_nothing),
        cmocka_unit_test(limits_of_resources_change_nothing),
        cmocka_unit_test(no_file_of_proc_is_needed),
        cmocka_unit_test(hidden_processes_change_nothing),
        cmocka_unit_test(what_is_written_has_the_images_and_offsets),
        cmocka_unit_test(rules_of_a_library_go_with_it),
        cmocka_unit_test(functions_without_rules_are_left_by_their_code),
        cmocka_unit_test(a_false_frame_record_is_left_by_rules),
    };
    return cmocka_run_group_tests_name("backtrace/raw", tests, NULL, NULL);
}
