// SPDX-License-Identifier: Apache-2.0
//
// flock(2) belongs to an open file, and a mapping keeps its file open: so the lock is
// held until the process has ended or has executed another program, however that comes,
// and no descriptor is in the program's way.
#include "handler/life.h"

#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>

#include "handler/crash.h"
#include "handler/file_syscalls.h"
#include "handler/machine.h"
#include "handler/starts.h"
#include "handler/syscalls.h"

static struct context_page *life_page;
static size_t life_bytes;
static pid_t life_process;

// read_start is the clock tick, since the machine's start, in which the process began:
// the 20th number after the name in /proc/self/stat. It stays across execve, so that
// the next program's life takes the place of this one's.
static uint64_t read_start(void)
{
    enum { NAME_END = 32, BEFORE = 20 }; // a name has 15 bytes at most
    static char line[512];               // clear
    uint64_t start = 0;
    int fd = sys_open("/proc/self/stat", O_RDONLY | O_CLOEXEC);
    sys_read(fd, line, sizeof(line) - 1);
    sys_close(fd);
    const char *at = line + NAME_END;
    while (at > line && *at != ')')
        at--;
    for (int i = 0; i < BEFORE; i++)
        while (*at != 0 && *at++ != ' ')
            ;
    while (*at >= '0' && *at <= '9')
        start = 10 * start + (uint64_t)(*at++ - '0');
    return start;
}

// leave_to_parent gives a forked child a context page of its own, without a life: most
// children execute another program at once.
static void leave_to_parent(void)
{
    void *own = mmap(NULL, life_bytes, PROT_READ | PROT_WRITE,
                     MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    crash_state.ended = NULL;
    if (own == MAP_FAILED)
        return;
    memcpy(own, life_page, sizeof(*life_page));
    machine_call(SYS_mremap, (long)own, (long)life_bytes, (long)life_bytes,
                 MREMAP_MAYMOVE | MREMAP_FIXED, (long)life_page);
}

void life_begin(struct context_page *context, bool kept)
{
    struct request_page *request = crash_plan->page;
    const size_t page = crash_plan->page_size;
    if (life_page != NULL || context == NULL)
        return;
    life_bytes = (sizeof(*context) + page - 1) & ~(page - 1);
    request->crash_realtime_ns = read_start();
    request->crashed_tid = sys_getpid();
    crash_state.helper.program_ppid = sys_getppid();
    if (kept)
        context->life.keeper = crash_state.helper.program_ppid;
    sys_prctl(PR_GET_NAME, (unsigned long)crash_state.helper.thread_name);
    int fd = crash_create_record(RECORD_ALIVE);
    if (fd < 0)
        return;
    if (mmap(context, life_bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, fd,
             (off_t)page) == context &&
        life_hear_forks(leave_to_parent)) {
        life_page = context;
        life_process = request->crashed_tid;
        crash_state.ended = &context->life.ended;
    }
    sys_close(fd);
}

void life_end(void)
{
    crash_claim_await();
    starts_end();
    if (crash_state.ended != NULL && life_process == sys_getpid())
        *crash_state.ended = LIFE_ENDED;
}

__attribute__((destructor)) static void end_at_exit(void)
{
    life_end();
}
