// SPDX-License-Identifier: Apache-2.0
//
// How it works: core_store_report (root) opens what needs root, starts core_in_child,
// passes the stream on in a third process if somebody wants the rest, and stores what
// the child returns:
// as the process's user where its variables name a spool (keep_as_owner, in a second
// child that is that user for good), otherwise in the session's spool.
//
// A held process is released by the last close of the stream. The parent closes it
// right after the start of the child; the child closes it when the raw report is made,
// and the process that passes the stream on when it has read what it wants. A parent
// that hangs is killed by SIGALRM, and the child with it.
#include "cli/session/core_store.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pwd.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include "agent/core/core_input.h"
#include "agent/core/dumped_process.h"
#include "agent/core/small_core.h"
#include "agent/raw/raw_report.h"
#include "base/clock.h"
#include "base/system/confine.h"
#include "base/system/file.h"
#include "base/system/rights.h"
#include "cli/session/command.h"
#include "cli/session/delivery.h"
#include "cli/session/session_spool.h"
#include "cli/session/surroundings.h"
#include "report/value/report.h"
#include "symbolizer/search/debug_search.h"
#include "symbolizer/search/guarded_child.h"

// core_findings are the child's, in memory that both have.
struct core_findings {
    int32_t signal; // that the process died by
    bool refused;   // it may not be reported
    bool released;  // the child does not hold the process
};

// core_work is what the child works on.
struct core_work {
    struct core_store *store;
    struct rights owner;     // the user whose rights the core is read with
    bool owner_is_safe;      // else those of nobody are used
    struct core_input input; // its fd is negative if the core is a file
    struct dumped_process dumped;
    int copied[2]; // the child closes its end when it has copied what it wants
    struct core_findings *found;
    json_t *seen; // surroundings that root alone can read of every process
    int core_fd;  // the small core, which the child writes; negative: none
    pid_t passer; // the process that passes the stream on; not positive: none
    uint64_t began_ms;
};

// find_owner reads the rights of the dying process. The files in /proc of a process
// that may not be dumped belong to root (proc(5)). Whose a core file is, is not known.
static void find_owner(struct core_work *work)
{
    struct stat folder;
    char path[64];
    pid_t pid = work->store->options.pid;
    work->owner.mixed = geteuid() == 0;
    (void)snprintf(path, sizeof(path), "/proc/%d", pid);
    if (pid == 0 || stat(path, &folder) != 0)
        return;
    rights_read(pid, &work->owner);
    work->owner_is_safe = !work->owner.mixed && work->owner.user != 0 &&
                          folder.st_uid == work->owner.user;
}

// note_owner has what the report names read with the owner's rights later, too: the
// report is root's, and root may show or complete it. A process that was root's alone
// has named nothing that root would not read.
static void note_owner(const struct core_work *work, json_t *report)
{
    const struct rights nobody = { .user = RIGHTS_NOBODY, .group = RIGHTS_NOBODY };
    if (work->owner.user != 0 || work->owner.mixed)
        report_rights_set(report, work->owner_is_safe ? &work->owner : &nobody);
}

static bool become_owner(const struct core_work *work)
{
    if (geteuid() != 0)
        return true;
    return work->owner_is_safe ? confine_become(&work->owner) : confine_become_nobody();
}

// release_process closes the stream: the kernel keeps the dying process until that
// happens.
static void release_process(int fd)
{
    int null = open("/dev/null", O_RDONLY | O_CLOEXEC);
    if (null < 0)
        return;
    (void)dup2(null, fd);
    (void)close(null);
    // The process may need this very processor to end.
    (void)sched_yield();
}

// The deadline of a hold, in the child: two descriptors, so that a signal's handler can
// close the stream.
static int held_stream;
static int null_file;

static void end_hold(int signal)
{
    (void)signal;
    (void)dup2(null_file, held_stream);
}

static void bound_hold(const struct core_store *store)
{
    const struct sigaction action = { .sa_handler = end_hold, .sa_flags = SA_RESTART };
    const struct itimerval time = { .it_value = { .tv_sec = store->hold_ms / 1000,
                                                  .tv_usec =
                                                      store->hold_ms % 1000 * 1000 } };
    held_stream = store->fd;
    null_file = open("/dev/null", O_RDONLY | O_CLOEXEC);
    (void)sigaction(SIGALRM, &action, NULL);
    (void)setitimer(ITIMER_REAL, &time, NULL);
    // A change of the user has cancelled it.
    (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
}

// The same deadline in the parent, a second later: a child that was stopped cannot keep
// its own. After that the parent has the time that it had.
static pid_t reader;
static const volatile bool *reader_released;
static unsigned rest_s;

static void end_reader(int number)
{
    if (!*reader_released)
        (void)kill(reader, SIGKILL);
    (void)signal(number, SIG_DFL);
    (void)alarm(rest_s);
}

static void bound_reader(const struct core_work *work, pid_t child)
{
    const struct sigaction action = { .sa_handler = end_reader,
                                      .sa_flags = SA_RESTART };
    const unsigned after_s = work->store->hold_ms / 1000 + 1;
    if (work->found == NULL)
        return; // it is held by nobody
    reader = child;
    reader_released = &work->found->released;
    (void)sigaction(SIGALRM, &action, NULL);
    const unsigned left_s = alarm(after_s);
    rest_s = left_s > after_s ? left_s - after_s : 1;
}

// own_variable is a variable of the process; NULL: it is not set, or empty.
static const char *own_variable(const struct text *environment, const char *name)
{
    const size_t length = strlen(name);
    const char *at = environment->bytes;
    const char *end = at + environment->size;
    for (; at != NULL && at < end; at += strlen(at) + 1) {
        if (strncmp(at, name, length) == 0 && at[length] == '=')
            return at[length + 1] != 0 ? at + length + 1 : NULL;
    }
    return NULL;
}

// its_or_our_variable is a settings_get_fn over the environment of the process, and
// ours for what that does not have.
static const char *its_or_our_variable(void *context, const char *name)
{
    const char *value = own_variable(context, name);
    return value != NULL ? value : session_getenv(NULL, name);
}

// is_told_already returns true if the library in the process has reported this end: it
// notes the time in its context page.
static bool is_told_already(const struct core_capture *core)
{
    enum { RECENT_S = 60 };
    const struct context_page *page = core->capture.context;
    uint64_t now_s = clock_now_ms(CLOCK_REALTIME) / 1000;
    return page != NULL && page->reported_s != 0 &&
           now_s - page->reported_s <= RECENT_S;
}

// take_core opens the core, or takes the process that the kernel holds. CH_END: its
// library has reported it. CH_ERR_NOT_FOUND: it is to have no report.
static enum ch_status take_core(struct core_work *work, struct core_capture *core)
{
    struct core_store *store = work->store;
    const int input = work->input.fd;
    enum ch_status status = CH_OK;
    if (store->hold_ms == 0) {
        if (input >= 0)
            status = core_input_fill(&work->input, store->fd);
        if (status == CH_OK)
            status = core_capture_open(core, input >= 0 ? input : store->fd,
                                       &store->options);
        return status;
    }
    if (work->owner_is_safe)
        settings_read(&store->session->settings, its_or_our_variable, NULL,
                      &work->dumped.environment);
    work->found->refused =
        store->admits != NULL && !store->admits(store->child_context);
    if (work->found->refused || store->session->settings.enable == SETTING_NO)
        return CH_ERR_NOT_FOUND;
    status = dumped_notes_copy(store->fd, input);
    if (status == CH_OK)
        status = core_capture_open(core, input, &store->options);
    if (status != CH_OK)
        return status;
    work->found->signal = core->crash.info.si_signo;
    if (!is_told_already(core))
        return status;
    core_capture_close(core);
    return CH_END;
}

// release_from_child releases the process as far as the child holds it.
static void release_from_child(struct core_work *work)
{
    release_process(work->store->fd);
    file_close(&work->copied[1]);
    if (work->found != NULL)
        work->found->released = true;
}

// read_core_report makes the raw report, releases the process, and writes the small
// core. It runs in the child.
static enum ch_status read_core_report(struct core_work *work, struct text *raw,
                                       struct text *held)
{
    struct core_capture core;
    struct small_core CH_CLEANUP(small_core_deinit) small = { 0 };
    enum ch_status status = take_core(work, &core);
    if (status != CH_OK) {
        release_from_child(work);
        return status;
    }
    core.capture.held = held;
    status = raw_report_write(&core.capture, work->store->id, -1, raw);
    core.capture.held = NULL;
    bool has_small = status == CH_OK && work->core_fd >= 0 &&
                     small_core_copy(&core, work->store->core_bytes, &small) == CH_OK;
    release_from_child(work);
    // A core that cannot be written whole is none, and the report matters more.
    if (has_small && small_core_write(&small, work->core_fd) != CH_OK)
        (void)!ftruncate(work->core_fd, 0);
    core_capture_close(&core);
    return status;
}

// add_surroundings adds what the report of a held process lacks.
static void add_surroundings(const struct core_work *work, json_t *report)
{
    const struct core_store *store = work->store;
    json_t *surroundings = json_object_get(report, "surroundings");
    if (surroundings == NULL)
        return;
    surroundings_add_system(report);
    surroundings_add_log(report, &store->session->settings);
    json_auto_t *more =
        store->describe != NULL ? store->describe(store->child_context) : NULL;
    (void)json_object_update(surroundings, more);
    (void)json_object_update(surroundings, work->seen);
}

// hold_program has the program read that the process ran, where another file or none
// may be at its path: it was deleted, or its path is one of a container.
static void hold_program(const struct core_work *work, const json_t *report,
                         struct symbolizer_held_image *out)
{
    const json_t *process = json_object_get(report, "process");
    const char *path = report_string(process, "executable");
    const char *home = work->store->options.home;
    struct session *session = work->store->session;
    if (path == NULL || work->dumped.program_fd < 0 ||
        (work->dumped.our_files && !report_flag(process, "executable_deleted")))
        return;
    bool masked = home != NULL && strncmp(path, "~/", 2) == 0;
    (void)snprintf(out->path, sizeof(out->path), "%s%s", masked ? home : "",
                   path + masked);
    (void)snprintf(out->place, sizeof(out->place), "/proc/self/fd/%d",
                   work->dumped.program_fd);
    session->held_images = out;
    session->held_image_count = 1;
}

// core_in_child returns the report with its names.
static enum ch_status core_in_child(void *context, int to_parent)
{
    struct core_work *work = context;
    const struct session *session = work->store->session;
    struct text CH_CLEANUP(text_deinit) raw = { 0 };
    struct text CH_CLEANUP(text_deinit) held = { 0 };
    struct text CH_CLEANUP(text_deinit) named = { 0 };
    struct report_error error;
    json_auto_t *report = NULL;
    spool_close(&work->store->session->spool);
    file_close(&work->copied[0]);
    if (!become_owner(work))
        return CH_ERR_IO;
    if (work->store->hold_ms != 0)
        bound_hold(work->store);
    confine_reader();
    enum ch_status status = read_core_report(work, &raw, &held);
    if (status == CH_OK)
        status = report_parse(raw.bytes, raw.size, &report, &error);
    if (status == CH_OK) {
        note_owner(work, report);
        text_clear(&raw);
        status = report_print_kept(report, &raw);
    }
    if (status != CH_OK)
        return status;
    add_surroundings(work, report);
    struct symbolizer_held_image program;
    hold_program(work, report, &program);
    // A core file names attachments of another time, a container those of another
    // place.
    bool attaches =
        work->store->hold_ms != 0 && work->owner_is_safe && work->dumped.our_files;
    const struct session_files files = { .held = held.bytes,
                                         .held_size = held.size,
                                         .attach =
                                             attaches ? &session->settings : NULL };
    (void)session_complete(session, report, &files);
    (void)json_object_set_new(report, "revision", json_integer(1));
    status = report_print_kept(report, &named);
    const struct text *best = status == CH_OK ? &named : &raw;
    return file_write_all(to_parent, best->bytes, best->size) ? CH_OK : CH_ERR_IO;
}

const char *core_store_unreadable(enum ch_status status)
{
    switch (status) {
    case CH_ERR_MALFORMED:
        return "not a core file";
    case CH_ERR_UNSUPPORTED:
        return "a core of a machine other than x86-64 and aarch64";
    case CH_ERR_TRUNCATED:
        return "it ends inside its header";
    case CH_ERR_NO_MEMORY:
        return strerror(ENOMEM);
    default:
        return NULL;
    }
}

// core_why finds out why the child could not read a core.
static const char *core_why(enum ch_status status)
{
    if (status == CH_ERR_FAULT)
        return "reading it crashed";
    if (status == CH_ERR_LIMIT)
        return "reading it took too long";
    const char *words = core_store_unreadable(status);
    return words != NULL ? words : "it cannot be read";
}

// become_finish prints and sends the report, as after any crash. It parses the report
// again, so it runs only if printing or sending was requested.
static int become_finish(const struct session *session, const char *id, int lock_fd)
{
    char lock[16];
    (void)snprintf(lock, sizeof(lock), "%d", lock_fd);
    // The lock must survive exec.
    (void)fcntl(lock_fd, F_SETFD, 0);
    (void)alarm(0);
    execl("/proc/self/exe", "crashhook", "finish", "--spool", session->spool_path,
          "--id", id, "--lock-fd", lock, (char *)NULL);
    return command_fail("cannot finish report %s: %s", id, strerror(errno));
}

static void say_nothing(void *context, const char *line)
{
    (void)context;
    (void)line;
}

// keep_core writes the small core to the session's spool, next to the report.
static void keep_core(const struct core_work *work, const struct session *session)
{
    struct stat info;
    char name[REPORT_ID_SIZE + sizeof(SPOOL_CORE)];
    // The seal keeps the file as long as it is mapped: the child may not be trusted.
    if (work->core_fd < 0 ||
        fcntl(work->core_fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW) != 0 ||
        fstat(work->core_fd, &info) != 0 || info.st_size <= 0 ||
        (uint64_t)info.st_size > 2 * work->store->core_bytes + CORE_NOTES_LIMIT_BYTES)
        return;
    const size_t size = (size_t)info.st_size;
    void *bytes = mmap(NULL, size, PROT_READ, MAP_SHARED, work->core_fd, 0);
    if (bytes == MAP_FAILED)
        return;
    (void)snprintf(name, sizeof(name), "%s" SPOOL_CORE, work->store->id);
    if (spool_write_file(&session->spool, name, bytes, size) != CH_OK)
        (void)command_fail("cannot write '%s' to spool '%s': %s", name,
                           session->spool_path, strerror(errno));
    (void)munmap(bytes, size);
}

// keep_report writes what the child returned to the session's spool, and keeps the
// spool within its limits.
static int keep_report(const struct core_work *work, struct session *session,
                       const struct text *report)
{
    const char *id = work->store->id;
    const struct settings *settings = &session->settings;
    struct delivery CH_CLEANUP(delivery_deinit) delivery = { 0 };
    int lock_fd = -1;
    enum ch_status status =
        spool_replace(&session->spool, id, report->bytes, report->size, &lock_fd);
    if (status != CH_OK)
        return command_fail("cannot write report %s to spool '%s': %s", id,
                            session->spool_path, spool_why(status));
    keep_core(work, session);
    // Of a held process something else is to be done after this.
    bool sends = settings->url != NULL || settings->print == SETTING_YES;
    if (sends && (work->store->hold_ms == 0 || fork() <= 0))
        return become_finish(session, id, lock_fd);
    if (delivery_init(&delivery, session, say_nothing, NULL) == CH_OK)
        (void)delivery_prune(&delivery, id);
    (void)close(lock_fd);
    return COMMAND_DONE;
}

// take_variables replaces our environment by the variables of the process that are
// ours, and its user's home.
static void take_variables(const struct text *environment, uid_t user)
{
    static const char prefix[] = "CRASHHOOK_";
    const struct passwd *account = getpwuid(user);
    const char *end = environment->bytes + environment->size;
    (void)clearenv();
    if (account != NULL)
        (void)setenv("HOME", account->pw_dir, 1);
    for (char *at = environment->bytes; at < end; at += strlen(at) + 1) {
        if (strncmp(at, prefix, sizeof(prefix) - 1) == 0 && strchr(at, '=') != NULL)
            (void)putenv(at);
    }
    (void)setenv("CRASHHOOK_PRINT", "no", 1);
}

// keep_as_owner stores the report in the spool that the process's variables name, in a
// child that has become its user for good. False: it could not.
static bool keep_as_owner(const struct core_work *work, const struct text *report)
{
    static const struct options none;
    struct session session;
    int status = -1;
    pid_t child = fork();
    if (child != 0)
        return child > 0 && waitpid(child, &status, 0) == child && status == 0;
    if (geteuid() == 0 && !confine_become(&work->owner))
        _exit(COMMAND_FAILED);
    (void)umask(077);
    (void)dup2(STDOUT_FILENO,
               STDERR_FILENO); // /dev/null: a user fills no log of root's
    take_variables(&work->dumped.environment, work->owner.user);
    session_init_quietly(&session, &none);
    if (session_spool_open(&session, SPOOL_CREATE) != CH_OK)
        _exit(COMMAND_FAILED);
    _exit(keep_report(work, &session, report));
}

static int keep_where_wanted(const struct core_work *work, const struct text *report)
{
    // The variables of the process itself may name a spool.
    if (!work->store->stays_here && work->owner_is_safe && work->dumped.our_files &&
        own_variable(&work->dumped.environment, "CRASHHOOK_SPOOL") != NULL &&
        keep_as_owner(work, report))
        return COMMAND_DONE;
    return keep_report(work, work->store->session, report);
}

// open_input opens what the core, or its notes, are copied to.
static bool open_input(struct core_work *work, const struct stat *info)
{
    struct core_store *store = work->store;
    if (store->hold_ms != 0) {
        work->input.fd = memfd_create("crashhook-notes", MFD_CLOEXEC);
        return work->input.fd >= 0;
    }
    return S_ISREG(info->st_mode) ||
           core_input_open(store->session->spool_path, &work->input);
}

// start_passing starts a process that waits until the child needs the stream no more,
// and passes it on. Negative: there is none.
static pid_t start_passing(struct core_work *work)
{
    struct core_store *store = work->store;
    struct pollfd ready = { .fd = work->copied[0], .events = POLLIN };
    if (store->pass == NULL)
        return -1;
    pid_t passer = fork();
    if (passer != 0)
        return passer;
    (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
    (void)alarm(store->pass_s);
    (void)poll(&ready, 1, (int)store->hold_ms);
    store->signal = work->found->signal;
    _exit(store->pass(store->pass_context, store->fd, work->input.fd) ? 0 : 1);
}

// finish_passing waits for that process.
static void finish_passing(struct core_work *work)
{
    enum { GRACE_S = 5 };
    int status = -1;
    if (work->passer <= 0)
        return;
    // If it was stopped, it ends with us.
    (void)signal(SIGALRM, SIG_DFL);
    (void)alarm(work->store->pass_s + GRACE_S);
    work->store->passed_whole =
        waitpid(work->passer, &status, 0) == work->passer && status == 0;
    (void)alarm(0);
    work->store->held_ms = clock_now_ms(CLOCK_MONOTONIC) - work->began_ms;
}

// run_child runs core_in_child and returns its result.
static enum ch_status run_child(struct core_work *work, struct text *report)
{
    struct core_store *store = work->store;
    struct guarded_child child;
    int64_t time_ms = 2 * (int64_t)store->session->settings.timeout_ms;
    int64_t deadline_ms = guarded_child_now_ms() + time_ms;
    enum ch_status status =
        guarded_child_start(core_in_child, work, deadline_ms, &child);
    file_close(&work->copied[1]);
    if (status == CH_OK) {
        bound_reader(work, child.pid);
        work->passer = start_passing(work);
        release_process(store->fd); // only the child uses it now
        status = guarded_child_finish(&child, deadline_ms, report);
    }
    file_close(&work->copied[0]);
    return status;
}

// read_held_process reads what only root may read of the process, and what the core
// lacks.
static enum ch_status read_held_process(struct core_work *work,
                                        struct process_facts *facts)
{
    struct core_store *store = work->store;
    char number[16];
    if (store->hold_ms == 0) {
        facts_read_process(facts, store->options.pid, store->options.pid);
        store->options.facts = facts;
        return CH_OK;
    }
    (void)alarm(3 * (unsigned)store->session->settings.timeout_ms / 1000 + 1);
    store->options.dumped = &work->dumped;
    work->found = mmap(NULL, sizeof(*work->found), PROT_READ | PROT_WRITE,
                       MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (work->found == MAP_FAILED)
        return CH_ERR_NO_MEMORY;
    enum ch_status status = dumped_process_open(store->options.pid, &work->dumped);
    if (status != CH_OK)
        return status;
    work->seen = json_object();
    (void)snprintf(number, sizeof(number), "%d", work->dumped.tid);
    surroundings_add_process(work->seen, number, work->dumped.facts.cgroup.bytes);
    return CH_OK;
}

// say_unreported finds out why there is no report, in words for a core or for a
// process.
static int say_unreported(const struct core_work *work, enum ch_status status)
{
    struct core_store *store = work->store;
    store->why_not = core_why(status);
    if (store->hold_ms != 0 && status == CH_END)
        store->why_not = "its library has reported it";
    else if (store->hold_ms != 0 && status == CH_ERR_NOT_FOUND)
        store->why_not = work->found->refused ? "--namespaces excludes its namespace"
                                              : "its CRASHHOOK_ENABLE is no";
    else
        return command_fail("cannot read '%s': %s", store->name, store->why_not);
    return COMMAND_DONE;
}

// stream_instead has the whole core of a held process read, whose memory may not be
// read: the kernel writes it without asking for rights. False: it cannot be kept.
static bool stream_instead(struct core_work *work, const struct stat *info,
                           struct process_facts *facts)
{
    struct core_store *store = work->store;
    if (store->hold_ms == 0 || store->pass != NULL)
        return false;
    file_close(&work->input.fd);
    file_close(&work->core_fd);
    store->hold_ms = 0;
    store->core_bytes = 0;
    store->options.dumped = NULL;
    return open_input(work, info) && read_held_process(work, facts) == CH_OK;
}

int core_store_report(struct core_store *store)
{
    struct core_work work = {
        .store = store,
        .input = { .fd = -1 },
        .dumped = { .memory_fd = -1, .tasks_fd = -1, .program_fd = -1 },
        .copied = { -1, -1 },
        .core_fd = -1,
        .began_ms = clock_now_ms(CLOCK_MONOTONIC)
    };
    struct text CH_CLEANUP(text_deinit) report = { .limit_bytes = REPORT_MAX_BYTES };
    struct process_facts facts = { 0 };
    struct stat info;
    find_owner(&work);
    report_id_make(clock_now_ms(CLOCK_REALTIME), store->id);
    if (fstat(store->fd, &info) != 0)
        return command_fail("cannot read '%s': %s", store->name, strerror(errno));
    if (store->core_bytes != 0)
        work.core_fd =
            memfd_create("crashhook-small-core", MFD_CLOEXEC | MFD_ALLOW_SEALING);
    if (!open_input(&work, &info) ||
        (store->pass != NULL && pipe2(work.copied, O_CLOEXEC) != 0))
        return command_fail("cannot keep the core of stdin in '%s': %s",
                            store->session->spool_path, strerror(errno));
    if (store->options.pid != 0 && read_held_process(&work, &facts) != CH_OK &&
        !stream_instead(&work, &info, &facts)) {
        store->why_not = "it may not be read";
        return command_fail("cannot read process %d: %s", store->options.pid,
                            strerror(errno));
    }
    enum ch_status status = run_child(&work, &report);
    facts_deinit_process(&facts);
    store->signal = work.found != NULL ? work.found->signal : 0;
    int result = status == CH_OK && report.size != 0 ? keep_where_wanted(&work, &report)
                                                     : say_unreported(&work, status);
    finish_passing(&work);
    file_close(&work.input.fd);
    file_close(&work.core_fd);
    json_decref(work.seen);
    dumped_process_close(&work.dumped);
    return result;
}

void core_store_fill_descriptors(void)
{
    bool no_stderr = fcntl(STDERR_FILENO, F_GETFD) < 0;
    int fd = open("/dev/null", O_RDWR);
    while (fd >= 0 && fd <= STDERR_FILENO)
        fd = dup(fd);
    if (fd > STDERR_FILENO)
        (void)close(fd);
    int log = no_stderr ? open("/dev/kmsg", O_WRONLY | O_CLOEXEC) : -1;
    if (log < 0)
        return;
    (void)dup2(log, STDERR_FILENO);
    (void)close(log);
}

void core_store_mask_home(struct core_options *options, const struct settings *settings)
{
    struct stat info;
    char path[64];
    options->home = getenv("HOME");
    if (options->pid != 0) {
        (void)snprintf(path, sizeof(path), "/proc/%d", options->pid);
        const struct passwd *user =
            stat(path, &info) == 0 ? getpwuid(info.st_uid) : NULL;
        options->home = user != NULL ? user->pw_dir : NULL;
        if (user != NULL)
            (void)setenv("HOME", user->pw_dir, 1);
    }
    if (settings->sanitize == SETTING_NO)
        options->home = NULL;
}
