// SPDX-License-Identifier: Apache-2.0
//
// How pages of a held process can be read without waiting for whoever supplies them: a
// thread that we have stopped (userfaultfd), or the server of a file system. Used where
// an ordinary read has not ended (target_memory.h).
#pragma once
#include <stdint.h>
#include <sys/types.h>

#include "images/images.h"

// A page_way is how a page can be read. PAGE_UNKNOWN: the kernel does not say which
// pages are in memory.
enum page_way { PAGE_UNKNOWN, PAGE_LEFT_OUT, PAGE_BY_READV, PAGE_BY_FILE };

struct target_care;

// target_care_create prepares to judge the pages of the process of tid, whose mappings
// images will have; process pid sees the mounts that its files are on. NULL: there is
// no memory. images must outlive it.
struct target_care *target_care_create(const struct target_images *images, pid_t tid,
                                       pid_t pid);
void target_care_destroy(struct target_care *care);

// target_care_way is how the page of address can be read: by process_vm_readv, or by
// /proc/PID/mem.
enum page_way target_care_way(struct target_care *care, uint64_t address);
