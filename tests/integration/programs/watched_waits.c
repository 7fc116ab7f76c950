// SPDX-License-Identifier: Apache-2.0
//
// Waits with a watched object and open calls: for who attaches, and to be killed. It
// may have reported itself before, or spoiled what its libraries say of themselves.
#define _GNU_SOURCE // dl_iterate_phdr
#include <link.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "crashhook/crashhook.h"

#define PLAIN __attribute__((no_instrument_function))

struct queue {
    int length;
    const char *owner;
    struct queue *next;
};

static struct queue queues[2] = { { 3, "first", &queues[1] }, { 5, "second", NULL } };

// A note as spoil finds it in memory.
struct note {
    uint32_t name_size, size, type;
    char name[12];
    uint32_t version, place_size;
    int64_t distance;
};

static const char *how; // to spoil it

PLAIN static void spoil(struct note *note)
{
    uintptr_t page = (uintptr_t)note & ~(uintptr_t)4095;
    if (mprotect((void *)page, 8192, PROT_READ | PROT_WRITE) != 0)
        return;
    if (strcmp(how, "nowhere") == 0)
        note->distance = INT64_C(0x123456789ab);
    else if (strcmp(how, "version") == 0)
        note->version += 1;
    else if (strcmp(how, "huge") == 0)
        note->place_size = UINT32_MAX;
    else if (strcmp(how, "table") == 0 && note->type == 1)
        memset((char *)&note->distance + note->distance, 0xaa, note->place_size);
    else if (strcmp(how, "table") == 0)
        memset((char *)&note->distance + note->distance + 24, 0x7f, 40);
    (void)mprotect((void *)page, 4096, PROT_READ);
}

PLAIN static int spoil_notes(struct dl_phdr_info *info, size_t size, void *out)
{
    (void)size;
    (void)out;
    for (int i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *header = &info->dlpi_phdr[i];
        char *at = (char *)info->dlpi_addr + header->p_vaddr;
        if (header->p_type != PT_NOTE)
            continue;
        for (size_t k = 0; k + sizeof(struct note) <= header->p_memsz; k += 4) {
            struct note *note = (struct note *)(at + k);
            if (note->name_size == 10 && memcmp(note->name, "crashhook", 10) == 0)
                spoil(note);
        }
    }
    return 0;
}

__attribute__((noinline)) void wait_for_signal(int number);
__attribute__((noinline)) void serve(int number);
__attribute__((noinline)) int count(int number);

int count(int number)
{
    return number + 1;
}

void wait_for_signal(int number)
{
    if (how != NULL && strcmp(how, "report") == 0)
        (void)crashhook_report_now("asked for");
    else if (how != NULL)
        (void)dl_iterate_phdr(spoil_notes, NULL);
    (void)write(STDOUT_FILENO, "ready\n", 6);
    for (;;)
        pause();
    queues[0].length = number;
}

void serve(int number)
{
    for (int i = 0; i < 20; i++)
        number = count(number);
    wait_for_signal(number);
    queues[1].length = number;
}

int main(int argc, char **argv)
{
    (void)prctl(PR_SET_PTRACER, PR_SET_PTRACER_ANY);
    (void)prctl(PR_SET_DUMPABLE, 1);
    how = argc > 1 ? argv[1] : NULL;
    if (crashhook_watch("queues", &queues[0], "struct queue") != 0)
        return 1;
    serve(argc);
    return 0;
}
