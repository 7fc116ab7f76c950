// SPDX-License-Identifier: Apache-2.0
#include "handler/prepare/plan.h"

#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/settings/settings.h"
#include "handler/machine/file_syscalls.h"
#include "handler/machine/syscalls.h"
#include "handler/prepare/agent_path.h"
#include "shared/settings_table.h"

// A layout is the offsets of the parts within the mapping, from its guard page on: the
// children's stacks, which grow towards that, the request page, working memory, the
// plan, which is read-only once sealed and so the guard of a stack after it, that and
// what else was wished, and a guard page.
struct layout {
    size_t page;
    size_t request;
    size_t scratch;
    size_t plan;
    size_t plan_bytes;
    size_t regions;
    size_t total;
};

static size_t round_up(size_t bytes, size_t page)
{
    return (bytes + page - 1) & ~(page - 1);
}

static size_t plan_bytes(const struct plan_wishes *wishes)
{
    size_t bytes = sizeof(struct crash_plan) + 1; // an empty path
    bytes += wishes->agent != NULL ? strlen(wishes->agent) + 1
                                   : agent_paths_bytes(wishes->folder_length);
    bytes += sizeof("crashhook-agent") + sizeof("--daemon") + 5 * sizeof(char *);
    bytes += wishes->spool != NULL ? strlen(wishes->spool) + 1 : 0;
    bytes += (wishes->variable_count + 1) * sizeof(char *);
    for (size_t i = 0; i < wishes->variable_count; i++) {
        const struct plan_variable *variable = &wishes->variables[i];
        bytes += variable->name_length + 1 + strlen(variable->value) + 1;
    }
    return bytes;
}

static struct layout plan_layout_of(const struct plan_wishes *wishes)
{
    struct layout at = { .page = getauxval(AT_PAGESZ) };
    at.plan_bytes = round_up(plan_bytes(wishes), at.page);
    at.request = round_up(2 * CRASH_CHILD_STACK, at.page);
    at.scratch = at.request + round_up(sizeof(struct request_page), at.page);
    at.plan = at.scratch + round_up(CRASH_SCRATCH, at.page);
    at.regions = at.plan + at.plan_bytes;
    at.total = at.regions + wishes->regions;
    return at;
}

// A writer puts strings one after another, into space whose size was computed before.
struct writer {
    char *at;
};

static char *write_plan_string(struct writer *to, const char *bytes, size_t length)
{
    char *start = to->at;
    memcpy(start, bytes, length);
    start[length] = 0;
    to->at = start + length + 1;
    return start;
}

static char *write_variable(struct writer *to, const struct plan_variable *variable)
{
    char *start = write_plan_string(to, variable->name, variable->name_length);
    to->at[-1] = '=';
    write_plan_string(to, variable->value, strlen(variable->value));
    return start;
}

bool plan_variable_is(const struct plan_variable *variable, const char *name)
{
    size_t same = 0;
    while (same < variable->name_length && variable->name[same] == name[same])
        same++;
    return same == variable->name_length && name[same] == 0;
}

// keep_variables notes which variables a record repeats, because its reader needs them;
// HOME is masked in paths. Tokens are not noted.
static void keep_variables(struct crash_plan *plan, const struct plan_wishes *wishes)
{
    static const uint8_t positions[] = { SETTING_AT_release,  SETTING_AT_environment,
                                         SETTING_AT_tags,     SETTING_AT_user,
                                         SETTING_AT_sanitize, SETTING_AT_spool };
    size_t kept = 0;
    for (size_t p = 0; p <= sizeof(positions); p++) {
        const char *name =
            p < sizeof(positions) ? settings_name_at(positions[p]) : "HOME";
        for (size_t i = 0; i < wishes->variable_count; i++) {
            if (plan_variable_is(&wishes->variables[i], name) &&
                kept < CRASH_KEPT_VARIABLES)
                plan->kept[kept++] = plan->envp[i];
        }
    }
}

// fill_plan writes the plan at to, which is zeroed: the struct, both vectors, the
// strings.
static struct crash_plan *fill_plan(void *to, const struct plan_wishes *wishes)
{
    struct crash_plan *plan = to;
    char **argv = (char **)(plan + 1);
    char **daemon_argv = argv + 2;
    char **envp = daemon_argv + 3;
    struct writer strings = { (char *)(envp + wishes->variable_count + 1) };

    argv[0] = write_plan_string(&strings, "crashhook-agent", strlen("crashhook-agent"));
    daemon_argv[0] = argv[0];
    daemon_argv[1] = write_plan_string(&strings, "--daemon", strlen("--daemon"));
    for (size_t i = 0; i < wishes->variable_count; i++)
        envp[i] = write_variable(&strings, &wishes->variables[i]);
    if (wishes->spool != NULL)
        plan->spool = write_plan_string(&strings, wishes->spool, strlen(wishes->spool));
    plan->agents = strings.at; // what follows is zero, an empty path
    if (wishes->agent != NULL)
        write_plan_string(&strings, wishes->agent, strlen(wishes->agent));
    else
        agent_paths_write(strings.at, wishes->folder, wishes->folder_length);
    plan->argv = argv;
    plan->daemon_argv = daemon_argv;
    plan->envp = envp;
    keep_variables(plan, wishes);
    plan->signals = wishes->signals;
    plan->reports_first = wishes->reports_first;
    plan->timeout_ns = wishes->timeout_ns;
    return plan;
}

static struct crash_plan *fill_mapping(char *base, const struct layout *at,
                                       const struct plan_wishes *wishes)
{
    struct crash_plan *plan = fill_plan(base + at->plan, wishes);
    struct request_page *page = (struct request_page *)(base + at->request);

    plan->page = page;
    plan->scratch = base + at->scratch;
    plan->page_size = at->page;
    // The kernel puts the strings above these bytes (binfmt_elf).
    plan->words_at = getauxval(AT_RANDOM);
    plan->bytes = at->plan_bytes;
    plan->mapping = base - at->page;
    // The plan's last page stays before the regions, as their guard.
    plan->mapping_bytes = wishes->regions != 0 ? at->regions : at->total + 2 * at->page;
    struct stat error;
    if (sys_status(STDERR_FILENO, &error) == 0) {
        plan->error_device = error.st_dev;
        plan->error_inode = error.st_ino;
    }
    plan->first_stack_end = base + CRASH_CHILD_STACK;
    plan->second_stack_end = base + 2 * CRASH_CHILD_STACK;
    page->magic = REQUEST_MAGIC;
    page->version = REQUEST_VERSION;
    page->size = sizeof(*page);
    page->kept_files = wishes->kept_files;
    page->places = wishes->places;
    page->watches = (uintptr_t)watch_slots;
    return plan;
}

void *plan_map(size_t bytes)
{
    const size_t guard = getauxval(AT_PAGESZ);
    char *base =
        mmap(NULL, bytes + 2 * guard, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (base == MAP_FAILED)
        return NULL;
    if (sys_mprotect(base + guard, bytes, PROT_READ | PROT_WRITE) == 0)
        return base + guard;
    sys_munmap(base, bytes + 2 * guard);
    return NULL;
}

struct crash_plan *plan_create(const struct plan_wishes *wishes)
{
    struct layout at = plan_layout_of(wishes);
    char *base = plan_map(at.total);
    return base != NULL ? fill_mapping(base, &at, wishes) : NULL;
}

void *plan_regions(struct crash_plan *plan)
{
    return (char *)plan + plan->bytes;
}

bool plan_is_in_force(void)
{
    return __atomic_load_n(&crash_plan, __ATOMIC_ACQUIRE) != NULL;
}

void plan_destroy(struct crash_plan *plan)
{
    if (plan != NULL)
        sys_munmap(plan->mapping, plan->mapping_bytes);
}

void plan_seal(struct crash_plan *plan)
{
    // If this fails the plan stays writable, which matters only for an overrun.
    (void)sys_mprotect(plan, plan->bytes, PROT_READ);
}
