// SPDX-License-Identifier: Apache-2.0
//
// Installing the handler: by the constructor in every program that holds the library,
// or by crashhook_install. Reads the variables once, prepares the plan, takes the
// signals. Not crash context; still no heap, since it runs before main in other
// people's programs.
#include "handler/install.h"

#include <errno.h>
#include <limits.h>
#include <pthread.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/uio.h>
#include <unistd.h>

#include "base/settings.h"
#include "crashhook/crashhook.h"
#include "handler/agent_path.h"
#include "handler/context.h"
#include "handler/crash.h"
#include "handler/daemon.h"
#include "handler/flight_place.h"
#include "handler/plan.h"
#include "handler/variables.h"

static pthread_mutex_t installing = PTHREAD_MUTEX_INITIALIZER;

bool install_done(void)
{
    return __atomic_load_n(&crash_plan, __ATOMIC_ACQUIRE) != NULL;
}

const char *crashhook_version(void)
{
    return CRASHHOOK_VERSION;
}

// complain writes its line in one call: the program and others may be writing too.
static void complain(void *context, const char *variable, const char *value,
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
    struct iovec line[sizeof(pieces) / sizeof(pieces[0])];
    for (size_t i = 0; i < sizeof(pieces) / sizeof(pieces[0]); i++)
        line[i] = (struct iovec){ (void *)(uintptr_t)pieces[i], strlen(pieces[i]) };
    if (writev(STDERR_FILENO, line, sizeof(line) / sizeof(line[0])) < 0)
        return; // nobody listens
}

static bool stderr_is_wanted(const struct settings *settings)
{
    if (settings->log != NULL && strcmp(settings->log, "stderr") == 0)
        return true;
    return settings->print == SETTING_YES ||
           (settings->print == SETTING_TTY && isatty(STDERR_FILENO));
}

static bool is_enabled(const struct settings *settings)
{
    return settings->enable == SETTING_YES ||
           (settings->enable == SETTING_TTY && isatty(STDERR_FILENO));
}

static void note_previous(struct crash_previous *out, const struct sigaction *action)
{
    out->handler = (uintptr_t)action->sa_handler;
    out->flags = (uint64_t)action->sa_flags;
    memcpy(&out->mask, &action->sa_mask, sizeof(out->mask));
}

// take installs our handler for signal and notes what was there. A signal that is no
// fault and is ignored stays so: what the program starts would inherit that.
static void take(struct crash_plan *plan, int signal)
{
    struct sigaction ours = { .sa_sigaction = crash_handle,
                              .sa_flags =
                                  SA_SIGINFO | SA_ONSTACK | SA_NODEFER | SA_RESTART };
    struct sigaction before;
    bool fault = signal != SIGQUIT && signal != SIGXCPU && signal != SIGXFSZ;

    sigfillset(&ours.sa_mask);
    for (int other = 1; other < CRASH_SIGNALS; other++) {
        if ((plan->signals >> other & 1) != 0)
            sigdelset(&ours.sa_mask, other);
    }
    if (sigaction(signal, &ours, &before) != 0)
        return;
    note_previous(&plan->previous[signal], &before);
    if (before.sa_handler == SIG_DFL)
        return;
    if (before.sa_handler == SIG_IGN && !fault) {
        (void)sigaction(signal, &before, NULL);
        return;
    }
    // A call that the earlier handler would have interrupted still is.
    if (before.sa_handler != SIG_IGN && (before.sa_flags & SA_RESTART) == 0) {
        ours.sa_flags &= ~SA_RESTART;
        (void)sigaction(signal, &ours, NULL);
    }
}

// put_in_force makes plan the one that crashes go by. Signals are taken once; a program
// that takes one away from us later does so on purpose.
static void put_in_force(struct crash_plan *plan)
{
    struct crash_plan *old = crash_plan;
    if (old != NULL)
        memcpy(plan->previous, old->previous, sizeof(plan->previous));
    __atomic_store_n(&crash_plan, plan, __ATOMIC_RELEASE);
    for (int signal = 1; old == NULL && signal < CRASH_SIGNALS; signal++) {
        if ((plan->signals >> signal & 1) != 0)
            take(plan, signal);
    }
    flight_place_tell();
    plan_seal(plan);
    if (old != NULL && __atomic_load_n(&crash_state.claim, __ATOMIC_ACQUIRE) == 0)
        plan_destroy(old);
}

static int install(char *const *environment, const struct crashhook_options *options)
{
    struct variables variables;
    struct settings settings;
    char agent[PATH_MAX];
    char spool[PATH_MAX];

    variables_collect(&variables, environment, options);
    settings_read(&settings, variables_get, install_done() ? NULL : complain,
                  &variables);
    if (!is_enabled(&settings))
        return ECANCELED;
    if (settings.agent == NULL ||
        !agent_path_absolute(settings.agent, agent, sizeof(agent)))
        agent_path_find(agent, sizeof(agent));
    variables_set(&variables, "CRASHHOOK_ENABLE", "no"); // for the agent itself

    bool has_spool = settings_spool_path(&settings, variables_get, &variables, spool,
                                         sizeof(spool)) == CH_OK;
    struct plan_wishes wishes = { .agent = agent,
                                  .spool = has_spool ? spool : NULL,
                                  .variables = variables.list,
                                  .variable_count = variables.count,
                                  .signals = settings.signals,
                                  .timeout_ns = settings.timeout_ms * 1000000u,
                                  .keep_stderr = stderr_is_wanted(&settings),
                                  .context = context_map() };
    message_places_find(&wishes.messages);
    struct crash_plan *plan = plan_create(&wishes);
    if (plan == NULL)
        return ENOMEM;
    (void)crashhook_thread_init(); // without it only a stack overflow goes unreported
    put_in_force(plan);
    if (settings.mode == MODE_DAEMON)
        (void)daemon_start(); // without it a crash starts its agent itself
    return 0;
}

static int install_once(char *const *environment,
                        const struct crashhook_options *options)
{
    if (getauxval(AT_SECURE) != 0)
        return EPERM;
    pthread_mutex_lock(&installing);
    int error = install_done() && options == NULL ? 0 : install(environment, options);
    pthread_mutex_unlock(&installing);
    return error;
}

int crashhook_install(const struct crashhook_options *options)
{
    if (options != NULL && options->size != sizeof(*options))
        return EINVAL;
    return install_once(environ, options);
}

// The shared library asks to be started before every other (-z initfirst), so that a
// crash of another library's constructor is reported. libc has not set environ by then,
// but glibc passes what main is going to get.
__attribute__((constructor)) static void install_at_start(int argc, char **argv,
                                                          char **environment)
{
    (void)argc;
    (void)argv;
#if !defined(__GLIBC__)
    environment = environ;
#endif
    (void)install_once(environment, NULL);
}
