// SPDX-License-Identifier: Apache-2.0
//
// Which pod, container and image a process belongs to (node_container): the container's
// ID is in the path of its control group. containerd and CRI-O keep a file for each
// container, in a folder that root alone may change. Its annotations name the rest.
//
// Users choose what these annotations say. So root reads the file, and whoever parses
// it has given up root's rights (cli/session/core_store.h).
#include <jansson.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <unistd.h>

#include "agent/core/core_input.h"
#include "base/system/rights.h"
#include "base/text.h"
#include "cli/node/node.h"
#include "cli/session/core_store.h"
#include "images/read_file.h"
#include "report/file/report_tree.h"

struct node_container {
    bool is_one;      // the process is in a container
    struct text file; // its runtime's; empty: there is none
};

enum { ID_SIZE = 65, CGROUP_BYTES = 64 << 10, FILE_BYTES = 4 << 20 };

// find_container_id writes the last word of 64 hexadecimal digits of the control
// groups: in a container of Kubernetes in another container, the inner one. False:
// there is none.
static bool find_container_id(const struct text *cgroup, char out[static ID_SIZE])
{
    static const char digits[] = "0123456789abcdef";
    out[0] = 0;
    for (const char *at = cgroup->size != 0 ? cgroup->bytes : ""; *at != 0;) {
        size_t size = strspn(at, digits);
        if (size == ID_SIZE - 1)
            (void)snprintf(out, ID_SIZE, "%.*s", (int)size, at);
        at += size;
        at += strcspn(at, digits);
    }
    return out[0] != 0;
}

// node_container_read reads the file of the container of process pid. root: the folder
// that stands for /, or NULL.
static void node_container_read(pid_t pid, const char *root, struct node_container *out)
{
    static const char *const places[][2] = {
        // before and after the ID
        { "/run/containerd/io.containerd.runtime.v2.task/k8s.io", "config.json" },
        { "/run/k3s/containerd/io.containerd.runtime.v2.task/k8s.io", "config.json" },
        { "/run/containers/storage/overlay-containers", "userdata/config.json" },
        { "/var/lib/containers/storage/overlay-containers", "userdata/config.json" },
    };
    struct text CH_CLEANUP(text_deinit) cgroup = { 0 };
    char id[ID_SIZE];
    *out = (struct node_container){ 0 };
    if (read_process_file(pid, "cgroup", CGROUP_BYTES, &cgroup) == CH_ERR_IO ||
        !find_container_id(&cgroup, id))
        return;
    out->is_one = true;
    for (size_t i = 0; i < sizeof(places) / sizeof(places[0]); i++) {
        struct text CH_CLEANUP(text_deinit) path = { 0 };
        text_appendf(&path, "%s%s/%s/%s", root != NULL ? root : "", places[i][0], id,
                     places[i][1]);
        text_clear(&out->file);
        if (read_file(path.bytes, FILE_BYTES, &out->file) == CH_OK)
            return;
    }
    text_clear(&out->file);
}

// node_container_describe returns the names in the file, with the keys that
// `surroundings` of a report has for them.
static json_t *node_container_describe(const struct node_container *container)
{
    // containerd's and CRI-O's
    static const char *const keys[][2] = {
        { "pod", "io.kubernetes.cri.sandbox-name" },
        { "pod", "io.kubernetes.pod.name" },
        { "pod_namespace", "io.kubernetes.cri.sandbox-namespace" },
        { "pod_namespace", "io.kubernetes.pod.namespace" },
        { "container_name", "io.kubernetes.cri.container-name" },
        { "container_name", "io.kubernetes.container.name" },
        { "image", "io.kubernetes.cri.image-name" },
        { "image", "io.kubernetes.cri-o.ImageName" },
        { "image_digest", "io.kubernetes.cri-o.ImageRef" },
    };
    json_t *out = json_object();
    json_auto_t *file =
        container->file.size != 0
            ? json_loadb(container->file.bytes, container->file.size, 0, NULL)
            : NULL;
    const json_t *annotations = json_object_get(file, "annotations");
    for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++) {
        json_t *value = json_object_get(annotations, keys[i][1]);
        if (json_is_string(value) && json_object_get(out, keys[i][0]) == NULL)
            (void)json_object_set(out, keys[i][0], value);
    }
    return out;
}

// node_container_is_admitted returns true if the list of namespaces, separated by
// commas, allows a report of the process. A namespace after a `!` gets none. If the
// list has one without, all that it does not name get none. Processes outside of
// containers are always reported.
static bool node_container_is_admitted(const struct node_container *container,
                                       const char *list)
{
    if (list == NULL || !container->is_one)
        return true;
    json_auto_t *facts = node_container_describe(container);
    const char *its = report_string(facts, "pod_namespace");
    bool admitted = true;
    for (const char *at = list; *at != 0;) {
        const size_t size = strcspn(at, ",");
        const bool denies = *at == '!';
        if (its != NULL && strlen(its) == size - denies &&
            strncmp(at + denies, its, size - denies) == 0)
            return !denies;
        admitted &= denies;
        at += size + (at[size] == ',');
    }
    return admitted;
}

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
    struct text CH_CLEANUP(text_deinit) program = { 0 };
    struct node_entry entry;
    describe_process(pid, &entry, &program);
    entry.rejected = node_rates_take(&node->rates, entry.uid, program.bytes);
    if (entry.rejected == 0)
        return false;
    entry.why = "more crashes in a minute than --per-minute allows";
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
    text_deinit(&subject.container.file);
    entry.core_is_cut = node->core == NODE_CORE_FULL && !store.passed_whole;
    node_ledger_add(&session->spool, &entry);
    return result;
}
