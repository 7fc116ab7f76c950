// SPDX-License-Identifier: Apache-2.0
#include <stdlib.h>
#include <string.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "cli/doctor/doctor.h"
#include "images/read_file.h"

enum {
    SMALL_FILE_BYTES = 16 << 10,
    OVERLAY = 0x794c7630, // f_type of statfs(2)
    TMPFS = 0x01021994,
    LITTLE_MEMORY_MIB = 64,
};

// container_kind tells by which mark a container was recognized; NULL: there is none.
static const char *container_kind(void)
{
    static const struct {
        const char *path;
        const char *kind;
    } marks[] = {
        { "/.dockerenv", "Docker" },
        { "/run/.containerenv", "Podman" },
        { "/var/run/secrets/kubernetes.io", "Kubernetes" },
        { "/run/systemd/container", "systemd-nspawn or alike" },
    };
    for (size_t i = 0; i < sizeof(marks) / sizeof(marks[0]); i++) {
        if (access(marks[i].path, F_OK) == 0)
            return marks[i].kind;
    }
    return getenv("container");
}

// memory_limit_mib is the limit of this cgroup's memory; 0: none is seen.
static unsigned long long memory_limit_mib(void)
{
    static const char *const files[] = {
        "/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes"
    };
    for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++) {
        struct text CH_CLEANUP(text_deinit) value = { 0 };
        if (read_file(files[i], SMALL_FILE_BYTES, &value) != CH_OK)
            continue;
        unsigned long long bytes = strtoull(value.bytes, NULL, 10);
        // "max" and version 1's largest number mean that there is none.
        return bytes < 1ULL << 60 ? bytes >> 20 : 0;
    }
    return 0;
}

// note_lost_spool notes a spool that ends with the container.
static bool note_lost_spool(const char *path, struct doctor_finding *out)
{
    struct statfs where;
    if (statfs(path, &where) != 0 || (where.f_type != OVERLAY && where.f_type != TMPFS))
        return false;
    text_appendf(&out->line,
                 "; the spool %s is %s: reports that were not sent are lost with the "
                 "container, so mount a volume there or set CRASHHOOK_URL",
                 path,
                 where.f_type == TMPFS ? "in memory" : "in the container's own files");
    return true;
}

enum doctor_verdict doctor_container(struct doctor *doctor, struct doctor_finding *out)
{
    const char *kind = container_kind();
    if (kind == NULL) {
        text_append_string(&out->line,
                           "this is none, or one that cannot be recognized");
        return DOCTOR_FINE;
    }
    text_appendf(&out->line, "%s", kind);
    bool noted = note_lost_spool(doctor->session->spool_path, out);
    unsigned long long limit = memory_limit_mib();
    if (limit != 0 && limit < LITTLE_MEMORY_MIB) {
        text_appendf(&out->line,
                     "; its %llu MiB of memory are for the program and its report, and "
                     "CRASHHOOK_SYMBOLIZE=off takes least",
                     limit);
        noted = true;
    }
    return noted ? DOCTOR_NOTE : DOCTOR_FINE;
}
