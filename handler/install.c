// SPDX-License-Identifier: Apache-2.0
//
// Installing the handler: by the constructor in every program with the library, or by
// crashhook_install. This is not crash context, but it uses no heap, because it runs
// before main in arbitrary programs.
//
// Order of calls (install_handler, under lock_install):
//   variables_collect and settings_read -> enabled? traced? -> find_spool, find_agent
//   -> plan_create (all that a crash needs, on pages of its own) -> put_in_force: the
//   plan is published and the signals are taken -> begin_supervision: liveness record
//   and the agent that waits, if wanted
//
// States: no plan -> a plan in force -> another plan in force (a later
// crashhook_install). The old plan is unmapped, unless a crash uses it. A process that
// `crashhook run` traces has the context page alone (begin_traced).
//
// Invariants: a plan is complete before it is published, and read-only right after
// (plan_seal). A signal is taken when a plan first has it; if the program takes it from
// us later, that is on purpose. A failure leaves the program as it was, or with the
// earlier plan.
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#include "base/settings/settings.h"
#include "crashhook/crashhook.h"
#include "handler/crash/crash.h"
#include "handler/crash/crash_trust.h"
#include "handler/interpose/actions.h"
#include "handler/interpose/sanitizer_runtime.h"
#include "handler/machine/file_syscalls.h"
#include "handler/machine/machine.h"
#include "handler/machine/syscalls.h"
#include "handler/prepare/agent_path.h"
#include "handler/prepare/context.h"
#include "handler/prepare/liveness_record.h"
#include "handler/prepare/plan.h"
#include "handler/prepare/threads.h"
#include "handler/prepare/variables.h"
#include "shared/flight_register.h"
#include "shared/settings_table.h"

// The address of libcrashhook-flight's rings, for the agent: the recorder registers it
// when it starts, before or after the handler is installed.

static uint64_t flight_state;

// flight_place_tell copies the registered address to the request page of the plan in
// force.
static void flight_place_tell(void)
{
    const struct crash_plan *plan = __atomic_load_n(&crash_plan, __ATOMIC_ACQUIRE);
    if (plan != NULL)
        plan->page->flight_state = __atomic_load_n(&flight_state, __ATOMIC_ACQUIRE);
}

void crashhook_flight_register(const void *state)
{
    __atomic_store_n(&flight_state, (uintptr_t)state, __ATOMIC_RELEASE);
    flight_place_tell();
}

// The agent that is started at install: it waits for a crash (CRASHHOOK_MODE=daemon),
// for programs that will give up the right to start processes, supervises the program
// (liveness_record.h), or both.
//
// It is an orphan. One that waits for crashes exits when the last process that holds
// its socket has exited: the program and those it forks, but not those it executes. One
// that only supervises exits with the program, which has no socket to it.

// Above the numbers that programs expect to get or to be free.
enum { LEAST_DESCRIPTOR = 512 };

static int move_up(int fd)
{
    int moved = (int)machine_call3(SYS_fcntl, fd, F_DUPFD_CLOEXEC, LEAST_DESCRIPTOR);
    if (moved < 0)
        return fd;
    sys_close(fd);
    return moved;
}

// forget_daemon closes our end only: the earlier agent stays for other processes that
// hold its socket.
static void forget_daemon(void)
{
    struct stat now;
    if (crash_state.daemon_pid > 0 &&
        sys_status(crash_state.daemon_socket, &now) == 0 &&
        now.st_ino == crash_state.daemon_inode)
        sys_close(crash_state.daemon_socket);
    crash_state.daemon_pid = 0;
}

// daemon_start starts it for the plan in force and sends it the liveness record in
// liveness_fd, if that is not negative. serves: it is to serve crashes, in place of an
// earlier one. False: it does not; then each crash starts its own agent.
static bool daemon_start(int liveness_fd, bool serves)
{
    struct stat now;
    if (serves)
        forget_daemon();
    crash_plan->page->deadline_monotonic_ns =
        sys_clock_ns(CLOCK_MONOTONIC) + crash_plan->timeout_ns;
    int channel = crash_start_daemon();
    if (channel < 0)
        return false;
    // The agent asks for the sender of each message, but one may come before it has.
    const int on = 1;
    int fd = serves ? move_up(channel) : channel;
    machine_call(SYS_setsockopt, fd, SOL_SOCKET, SO_PASSCRED, (long)&on, sizeof(on));
    if (liveness_fd >= 0)
        (void)crash_send_descriptor(fd, liveness_fd);
    if (!serves || !crash_agent_started() || sys_status(fd, &now) != 0) {
        sys_close(fd);
        return false;
    }
    crash_state.daemon_socket = fd;
    crash_state.daemon_inode = now.st_ino;
    crash_state.daemon_pid = crash_plan->page->agent_pid;
    return true;
}

static uint32_t installing; // 1: a thread is installing, 2: and another waits

const char *crashhook_version(void)
{
    return CRASHHOOK_VERSION;
}

// write_pieces writes a line with one call, because other threads may be writing too.
static void write_pieces(const char *const *pieces, size_t count, size_t last_but_one)
{
    struct iovec line[8];
    for (size_t i = 0; i < count; i++)
        line[i] = (struct iovec){ (void *)(uintptr_t)pieces[i],
                                  i + 2 == count ? last_but_one : strlen(pieces[i]) };
    machine_call3(SYS_writev, STDERR_FILENO, (long)line, (long)count);
}

static void complain_of_variable(void *context, const char *variable, const char *value,
                                 const char *accepted)
{
    (void)context;
    const char *pieces[] = { "crashhook: ",
                             variable,
                             "='",
                             value,
                             "' is not understood: accepted is ",
                             accepted,
                             "; using the default\n" };
    write_pieces(pieces, sizeof(pieces) / sizeof(pieces[0]), strlen(accepted));
}

// complain_of_name prints before, name and after. The value of an unknown variable is
// not printed: it may be a token under a misspelt name.
static void complain_of_name(const char *before, const char *name, size_t length,
                             const char *after)
{
    const char *pieces[] = { before, name, after };
    write_pieces(pieces, 3, length);
}

static void complain_of_unknown(const struct variables *variables)
{
    for (size_t i = 0; i < variables->count; i++) {
        const struct plan_variable *variable = &variables->list[i];
        if (!variable->asked_for && strncmp(variable->name, "CRASH", 5) == 0)
            complain_of_name("crashhook: there is no ", variable->name,
                             variable->name_length, "; see `crashhook doctor`\n");
    }
}

// fd_is_terminal makes isatty's system call. A start runs no other code near isatty
// in libc, so calling that would cause a page fault.
static bool fd_is_terminal(int fd)
{
    char settings[64]; // more than the kernel's struct termios
    return machine_call3(SYS_ioctl, fd, TCGETS, (long)settings) == 0;
}

// put_in_force makes plan the one for the next crash. A signal is taken when a plan
// first has it; if the program takes one from us later, that is on purpose.
static void put_in_force(struct crash_plan *plan)
{
    struct crash_plan *old = crash_plan;
    uint64_t changed = plan->signals ^ (old != NULL ? old->signals : 0);
    __atomic_store_n(&crash_plan, plan, __ATOMIC_RELEASE);
    for (int signal = 1; signal < SIGNALS_END; signal++) {
        if (!signal_in(changed, signal))
            continue;
        if (signal_in(plan->signals, signal))
            actions_take(signal);
        else
            actions_give_back(signal);
    }
    flight_place_tell();
    plan_seal(plan);
    if (old != NULL && __atomic_load_n(&crash_state.claim, __ATOMIC_ACQUIRE) == 0)
        plan_destroy(old);
}

// find_spool writes the spool's absolute path, because the program may change its
// working directory.
static bool find_spool(struct variables *variables, const struct settings *settings,
                       char path[static PATH_MAX])
{
    if (settings->spool == NULL || settings->spool[0] == '/')
        return settings_spool_path(settings, variables_get, variables, path,
                                   PATH_MAX) == CH_OK;
    if (!agent_path_absolute(settings->spool, path, PATH_MAX))
        return false;
    variables_set(variables, SETTING_AT_spool, path);
    return true;
}

// find_agent writes to path where the agent is, if that is given, otherwise the place
// from which it is searched for. A given one that cannot be started is said at the
// first install.
static void find_agent(const struct settings *settings, bool first,
                       char path[static PATH_MAX], struct plan_wishes *out)
{
    bool given =
        settings->agent != NULL && agent_path_absolute(settings->agent, path, PATH_MAX);
    if (given && (!crash_trusts(path) || sys_getuid() != sys_geteuid())) {
        if (first)
            complain_of_name("crashhook: CRASHHOOK_AGENT is ignored: users other than "
                             "root and its own can change the agent '",
                             path, strlen(path), "' or a folder above it\n");
        given = false;
    }
    if (!given) {
        out->folder = path;
        out->folder_length = agent_path_folder(path, PATH_MAX);
        return;
    }
    out->agent = path;
    if (first && !sys_executes(path))
        complain_of_name("crashhook: cannot execute CRASHHOOK_AGENT '", path,
                         strlen(path), "'\n");
}

// begin_supervision makes the liveness record, if one is wanted, and starts the agent
// that waits: as the program's supervisor, unless that is `crashhook run`, for its
// crashes, or for both. If it cannot be started, a crash starts its own agent.
static void begin_supervision(const struct settings *settings, const char *given)
{
    bool seizes = settings->kills == KILLS_SEIZE;
    bool serves = settings->mode == MODE_DAEMON || seizes;
    bool kept = settings->kills == KILLS_YES || seizes;
    bool supervised;
    int fd = liveness_record_begin(given, kept || settings->starts == SETTING_YES,
                                   &supervised);
    if (settings->starts == SETTING_YES)
        starts_begin();
    if (serves || (fd >= 0 && !supervised))
        (void)daemon_start(fd, serves);
    if (fd >= 0)
        sys_close(fd);
    if (seizes && crash_state.daemon_pid > 0)
        (void)sys_prctl(PR_SET_PTRACER, (unsigned long)crash_state.daemon_pid);
}

// regions are the bytes of what is mapped with the first plan; 0: it is there.
struct regions {
    size_t stack; // of this thread, to run the handler on
    size_t context;
};

static struct regions regions_wanted(void)
{
    const size_t page = getauxval(AT_PAGESZ);
    return (struct regions){ threads_first_bytes(),
                             context_current != NULL
                                 ? 0
                                 : (sizeof(*context_current) + page - 1) & -page };
}

// regions_use takes them into use. The stack lives as long as the process; if the
// kernel refuses it, only a stack overflow goes unreported.
static void regions_use(const struct regions *regions, char *at)
{
    if (regions->stack != 0)
        (void)threads_use(at);
    if (regions->context != 0)
        context_begin(at + regions->stack);
}

// begin_traced maps the context alone: tags and breadcrumbs are read from outside.
static void begin_traced(void)
{
    struct regions regions = regions_wanted();
    char *at = regions.context != 0 ? plan_map(regions.context) : NULL;
    regions.stack = 0;
    if (at != NULL)
        regions_use(&regions, at);
}

// is_traced returns true if `crashhook run` traces the process: it has set the
// variable, and there is a tracer. A child that is no longer traced may have the
// variable, too.
static bool is_traced(struct variables *variables)
{
    static const char wanted[] = "\nTracerPid:\t";
    char text[512] = "";
    if (variables_get(variables, SETTINGS_TRACED) == NULL)
        return false;
    int fd = sys_open("/proc/self/status", O_RDONLY | O_CLOEXEC);
    long size = sys_read(fd, text, sizeof(text) - 1);
    sys_close(fd);
    if (size < 0)
        return true; // nothing says otherwise
    const char *found = strstr(text, wanted);
    return found != NULL && found[sizeof(wanted) - 1] != '0';
}

static int install_handler(char *const *environment,
                           const struct crashhook_options *options)
{
    struct variables variables;
    struct settings settings;
    char agent[PATH_MAX];
    char spool[PATH_MAX];
    bool first = !plan_is_in_force();

    variables_collect(&variables, environment, options);
    settings_read(&settings, variables_get, first ? complain_of_variable : NULL,
                  &variables);
    bool traced = is_traced(&variables);
    if (traced)
        begin_traced();
    bool is_enabled = settings.enable == SETTING_YES ||
                      (settings.enable == SETTING_TTY && fd_is_terminal(STDERR_FILENO));
    if (traced || !is_enabled)
        return ECANCELED;
    const char *given = variables_get(&variables, LIVENESS_VARIABLE);
    bool tells = first && settings.warnings == SETTING_YES;
    if (tells)
        complain_of_unknown(&variables);
    const char *number = given;
    if (given != NULL && sys_read_number(&number) == (uint64_t)sys_getpid()) {
        settings.kills = KILLS_YES;
        variables_set(&variables, SETTING_AT_kills, "yes");
        given = NULL;
    }
    // The agent itself needs no handler.
    variables_set(&variables, SETTING_AT_enable, "no");
    bool has_spool = find_spool(&variables, &settings, spool);
    struct regions regions = regions_wanted();
    struct plan_wishes wishes = { .spool = has_spool ? spool : NULL,
                                  .variables = variables.list,
                                  .variable_count = variables.count,
                                  .signals = settings.signals,
                                  .timeout_ns = settings.timeout_ms * 1000000u,
                                  .reports_first = settings.handlers == HANDLERS_LAST,
                                  .kept_files =
                                      settings_kept_files(&settings, fd_is_terminal),
                                  .regions = regions.stack + regions.context };
    find_agent(&settings, tells, agent, &wishes);
    message_places_find(&wishes.places);
    struct crash_plan *plan = plan_create(&wishes);
    if (plan == NULL)
        return ENOMEM;
    regions_use(&regions, plan_regions(plan));
    plan->page->context_page = (uintptr_t)context_current;
    sanitizer_end_note();
    put_in_force(plan);
    begin_supervision(&settings, given);
    return 0;
}

// An installation is what install_with_room passes on.
struct installation {
    char *const *environment;
    const struct crashhook_options *options;
    int error;
};

static int install_there(void *argument)
{
    struct installation *asked = argument;
    asked->error = install_handler(asked->environment, asked->options);
    return 0;
}

// install_with_room installs on a mapping where the limit of the first thread's stack
// leaves less than is needed. The program's file name is at the top of that stack. For
// another thread the difference means nothing, and either way works.
static int install_with_room(char *const *environment,
                             const struct crashhook_options *options)
{
    enum { NEEDED_BYTES = 64 * 1024 };
    struct installation asked = { environment, options, ENOMEM };
    struct rlimit limit = { .rlim_cur = RLIM_INFINITY };
    uintptr_t top = getauxval(AT_EXECFN);
    uintptr_t here = (uintptr_t)__builtin_frame_address(0);
    (void)machine_call4(SYS_prlimit64, 0, RLIMIT_STACK, 0, (long)&limit);
    if (limit.rlim_cur >= NEEDED_BYTES + (top - here))
        return install_handler(environment, options);
    char *stack = mmap(NULL, NEEDED_BYTES, PROT_READ | PROT_WRITE,
                       MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (stack == MAP_FAILED)
        return ENOMEM;
    machine_call_on(stack + NEEDED_BYTES, install_there, &asked);
    sys_munmap(stack, NEEDED_BYTES);
    return asked.error;
}

// lock_install takes a lock of our own: before main, a sanitizer's runtime that
// interposes those of libc may not be initialized.
static void lock_install(void)
{
    uint32_t free_lock = 0;
    if (__atomic_compare_exchange_n(&installing, &free_lock, 1, false, __ATOMIC_ACQUIRE,
                                    __ATOMIC_RELAXED))
        return;
    while (__atomic_exchange_n(&installing, 2, __ATOMIC_ACQUIRE) != 0)
        sys_futex_wait(&installing, 2, UINT64_C(1000000000));
}

static void unlock_install(void)
{
    if (__atomic_exchange_n(&installing, 0, __ATOMIC_RELEASE) == 2)
        sys_futex_wake_all(&installing);
}

static int install_once(char *const *environment,
                        const struct crashhook_options *options)
{
    if (getauxval(AT_SECURE) != 0) {
        variables_forget((char **)(uintptr_t)environment);
        return EPERM;
    }
    lock_install();
    // This is written before anything in its page is read: what is read first is mapped
    // twice.
    crash_state.reads_thread_word =
        (getauxval(AT_HWCAP2) & MACHINE_THREAD_WORD_HWCAP2) != 0;
    int error = plan_is_in_force() && options == NULL
                    ? 0
                    : install_with_room(environment, options);
    unlock_install();
    return error;
}

int crashhook_session_begin(void)
{
    const struct settings settings = { .starts = SETTING_YES };
    if (crash_plan == NULL)
        return ECANCELED;
    lock_install();
    begin_supervision(&settings, NULL);
    unlock_install();
    return 0;
}

void crashhook_session_end(void)
{
    starts_end();
}

int crashhook_install(const struct crashhook_options *options)
{
    if (options != NULL && !variables_options_ok(options))
        return EINVAL;
    return install_once(environ, options);
}

// environment_at_start is the kernel's environment, before libc has set environ: it is
// above the arguments, on the stack whose address glibc's loader keeps. Other loaders
// set environ first, and pass no arguments to a constructor.
static char *const *environment_at_start(void)
{
    extern void *__libc_stack_end __attribute__((weak)); // glibc's name
    if (environ != NULL || &__libc_stack_end == NULL || __libc_stack_end == NULL)
        return environ;
    char *const *word = __libc_stack_end;
    for (word++; *word != NULL; word++) // past argc, to the NULL after argv
        continue;
    return word + 1;
}

// install_at_start installs at load time. The shared library asks to be initialized
// before all others (-z initfirst), so that a crash in another library's constructor is
// reported. In a static program the priority does so, and the flight recorder comes
// after us.
__attribute__((constructor(101))) static void install_at_start(void)
{
    sanitizer_start();
    (void)install_once(environment_at_start(), NULL);
    liveness_record_ready_for_forks();
    if (plan_is_in_force())
        actions_await_at_exit();
}
