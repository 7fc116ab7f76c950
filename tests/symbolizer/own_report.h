// SPDX-License-Identifier: Apache-2.0
//
// A report of the test itself: its real images, frames at real addresses of its code,
// as the agent would have written them.
#pragma once
#include <link.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <jansson.h>

#include "base/hex.h"

static inline void own_report_hex(json_t *object, const char *key, uint64_t value)
{
    char text[32];
    snprintf(text, sizeof(text), "0x%llx", (unsigned long long)value);
    json_object_set_new(object, key, json_string(text));
}

static inline void own_report_build_id(json_t *image, const struct dl_phdr_info *info,
                                       const ElfW(Phdr) * header)
{
    const char *note = (const char *)(info->dlpi_addr + header->p_vaddr);
    const char *end = note + header->p_memsz;
    while (note + sizeof(ElfW(Nhdr)) < end) {
        const ElfW(Nhdr) *at = (const ElfW(Nhdr) *)note;
        const char *name = note + sizeof(*at);
        const char *bytes = name + ((at->n_namesz + 3) & ~3u);
        if (at->n_type == NT_GNU_BUILD_ID && strcmp(name, "GNU") == 0) {
            char hex[129];
            hex_encode(bytes, at->n_descsz, hex);
            json_object_set_new(image, "build_id", json_string(hex));
        }
        note = bytes + ((at->n_descsz + 3) & ~3u);
    }
}

static inline int own_report_image(struct dl_phdr_info *info, size_t size, void *opaque)
{
    (void)size;
    json_t *image = json_object();
    char path[4096];
    ssize_t length = readlink("/proc/self/exe", path, sizeof(path) - 1);
    path[length > 0 ? length : 0] = 0;
    if (info->dlpi_name[0] != 0)
        snprintf(path, sizeof(path), "%s", info->dlpi_name);
    uint64_t low = UINT64_MAX;
    uint64_t text_end = 0;
    for (int i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *header = &info->dlpi_phdr[i];
        uint64_t begin = info->dlpi_addr + header->p_vaddr;
        if (header->p_type == PT_NOTE)
            own_report_build_id(image, info, header);
        if (header->p_type != PT_LOAD)
            continue;
        low = begin < low ? begin : low;
        if ((header->p_flags & PF_X) != 0 && begin + header->p_memsz > text_end)
            text_end = begin + header->p_memsz;
    }
    json_object_set_new(image, "path", json_string(path));
    own_report_hex(image, "base", low & ~4095ull);
    own_report_hex(image, "end_of_text", (text_end + 4095) & ~4095ull);
    json_array_append_new(opaque, image);
    return 0;
}

// own_report_frame is a frame as raw reports have it.
static inline json_t *own_report_frame(const char *kind, uint64_t address)
{
    json_t *frame = json_object();
    json_object_set_new(frame, "kind", json_string(kind));
    own_report_hex(frame, "address", address);
    return frame;
}

// own_report has thread_count threads that each have a copy of frames, which it takes.
static inline json_t *own_report(json_t *frames, size_t thread_count)
{
    json_t *report = json_object();
    json_t *images = json_array();
    json_t *threads = json_array();
    json_object_set_new(report, "revision", json_integer(0));
    dl_iterate_phdr(own_report_image, images);
    for (size_t i = 0; i < thread_count; i++) {
        json_t *thread = json_object();
        json_t *backtrace = json_object();
        json_object_set_new(backtrace, "frames", json_deep_copy(frames));
        json_object_set_new(thread, "backtrace", backtrace);
        json_array_append_new(threads, thread);
    }
    json_decref(frames);
    json_object_set_new(report, "threads", threads);
    json_object_set_new(report, "images", images);
    return report;
}

// own_report_frames are the frames of thread number thread.
static inline json_t *own_report_frames(const json_t *report, size_t thread)
{
    const json_t *it = json_array_get(json_object_get(report, "threads"), thread);
    return json_object_get(json_object_get(it, "backtrace"), "frames");
}
