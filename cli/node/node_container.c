// SPDX-License-Identifier: Apache-2.0
#include "cli/node/node_container.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "images/read_file.h"
#include "report/file/report_tree.h"

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

void node_container_read(pid_t pid, const char *root, struct node_container *out)
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

void node_container_deinit(struct node_container *container)
{
    text_deinit(&container->file);
}

json_t *node_container_describe(const struct node_container *container)
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

bool node_container_is_admitted(const struct node_container *container,
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
