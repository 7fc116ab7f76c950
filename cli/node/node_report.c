// SPDX-License-Identifier: Apache-2.0
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "agent/core/core_input.h"
#include "base/system/rights.h"
#include "cli/node/node.h"
#include "cli/node/node_container.h"
#include "cli/session/core_store.h"
#include "images/read_file.h"

// describe_process fills what the ledger says of it.
static void describe_process(pid_t pid, struct node_entry *out, struct text *program)
{
    struct rights rights;
    rights_read(pid, &rights);
    if (read_process_link(pid, "exe", program) != CH_OK)
        text_append_string(program, "?");
    *out = (struct node_entry){ .pid = pid,
                                .uid = rights.real_user,
                                .program = program->bytes };
}

bool node_is_over_rate(struct node *node, pid_t pid)
{
    static const char why[] = "more crashes in a minute than --per-minute allows";
    struct text CH_CLEANUP(text_deinit) program = { 0 };
    struct node_entry entry;
    describe_process(pid, &entry, &program);
    entry.rejected = node_rates_take(&node->rates, entry.uid, program.bytes);
    if (entry.rejected == 0)
        return false;
    entry.why = why;
    // Powers of two: a loop of crashes does not fill the ledger.
    if ((entry.rejected & (entry.rejected - 1)) == 0)
        node_ledger_add(&node->session.spool, &entry);
    return true;
}

// is_traced_by_us returns true if the tracer of `crashhook run` reports the process.
static bool is_traced_by_us(pid_t pid)
{
    static const char agent[] = "/crashhook-agent";
    static const char key[] = "\nTracerPid:\t";
    struct text CH_CLEANUP(text_deinit) status = { 0 };
    struct text CH_CLEANUP(text_deinit) tracer = { 0 };
    if (read_process_file(pid, "status", 64 << 10, &status) == CH_ERR_IO ||
        status.size == 0)
        return false;
    const char *at = strstr(status.bytes, key);
    long number = at != NULL ? strtol(at + sizeof(key) - 1, NULL, 10) : 0;
    if (number <= 0 || read_process_link((int)number, "exe", &tracer) != CH_OK)
        return false;
    return tracer.size >= sizeof(agent) &&
           strcmp(tracer.bytes + tracer.size - (sizeof(agent) - 1), agent) == 0;
}

// A subject is the process whose report is made.
struct subject {
    const struct node *node;
    struct node_container container;
};

static bool is_admitted(const void *context)
{
    const struct subject *subject = context;
    return node_container_is_admitted(&subject->container, subject->node->namespaces);
}

static json_t *describe_subject(const void *context)
{
    const struct subject *subject = context;
    return node_container_describe(&subject->container);
}

int node_report(struct node *node, pid_t pid, int fd)
{
    struct session *session = &node->session;
    struct text CH_CLEANUP(text_deinit) program = { 0 };
    struct node_then then = { .node = node, .pid = pid };
    struct node_full_core full = { .node = node };
    struct subject subject = { .node = node };
    struct node_entry entry;
    char core[REPORT_ID_SIZE + sizeof(SPOOL_FULL_CORE)];
    struct core_store store = { .session = session,
                                .options = { .settings = &session->settings,
                                             .pid = pid },
                                .name = "core of the kernel",
                                .fd = fd,
                                .hold_ms = node->hold_ms,
                                .admits = is_admitted,
                                .describe = describe_subject,
                                .child_context = &subject,
                                .pass_s = NODE_PASS_S };
    describe_process(pid, &entry, &program);
    node_container_read(pid, node->root, &subject.container);
    core_store_mask_home(&store.options, &session->settings);
    if (node->then) {
        then.signal = &store.signal;
        store.pass = node_then;
        store.pass_context = &then;
        node_then_prepare(&then);
    }
    if (node->core == NODE_CORE_SMALL)
        store.core_bytes = node->core_bytes;
    if (node->core == NODE_CORE_FULL) {
        full.id = store.id;
        store.pass = node_full_core_keep;
        store.pass_context = &full;
        store.stays_here = true;
    }
    int result = COMMAND_DONE;
    if (is_traced_by_us(pid)) {
        store.why_not = "crashhook run traces it, and reports it";
        if (node->then)
            node_then(&then, fd, -1);
        (void)close(fd);
    } else {
        result = core_store_report(&store);
    }
    entry.signal = store.signal;
    entry.why = store.why_not;
    entry.report = store.why_not == NULL && result == COMMAND_DONE ? store.id : NULL;
    if (entry.report == NULL && entry.why == NULL)
        entry.why = "the report could not be stored";
    entry.held_ms = store.held_ms;
    if (node_core_name(node, store.id, core, sizeof(core))) {
        // A core goes when its report does, so there is none without.
        if (entry.report == NULL)
            (void)unlinkat(session->spool.folder_fd, core, 0);
        else
            entry.core = core;
    }
    node_container_deinit(&subject.container);
    entry.core_is_cut = node->core == NODE_CORE_FULL && !store.passed_whole;
    node_ledger_add(&session->spool, &entry);
    return result;
}
