// SPDX-License-Identifier: Apache-2.0
//
// Crashes with an argument that points to memory whose pages somebody else supplies.
//
//     blocked_pages filled         a thread of the program fills them (userfaultfd)
//     blocked_pages stack          and the crashed thread's stack is such memory too
//     blocked_pages file PATH      the pages of a file
//     blocked_pages library PATH   no pages; the frames go through a library's code
#include <dlfcn.h>
#include <fcntl.h>
#include <linux/userfaultfd.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { PAGE = 4096, PAGES = 64, STACK_PAGE = 16, STACK_PAGES = 32 };

static int faults;

static void *fill_pages(void *unused)
{
    static char page[PAGE] __attribute__((aligned(PAGE)));
    struct uffd_msg message;
    memset(page, 'x', sizeof(page));
    for (;;) {
        struct pollfd ready = { .fd = faults, .events = POLLIN };
        poll(&ready, 1, -1);
        if (read(faults, &message, sizeof(message)) != sizeof(message))
            continue;
        struct uffdio_copy copy = { .dst = message.arg.pagefault.address & -(__u64)PAGE,
                                    .src = (__u64)(uintptr_t)page,
                                    .len = PAGE };
        ioctl(faults, UFFDIO_COPY, &copy);
    }
    return unused;
}

static char *map_filled(void)
{
    struct uffdio_api api = { .api = UFFD_API };
    pthread_t filler;
    char *pages = mmap(NULL, PAGES * PAGE, PROT_READ | PROT_WRITE,
                       MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    struct uffdio_register range = {
        .range = { (__u64)(uintptr_t)pages, PAGES * PAGE },
        .mode = UFFDIO_REGISTER_MODE_MISSING,
    };
    faults = (int)syscall(SYS_userfaultfd, O_CLOEXEC | O_NONBLOCK);
    if (faults < 0 || ioctl(faults, UFFDIO_API, &api) != 0 ||
        ioctl(faults, UFFDIO_REGISTER, &range) != 0 ||
        pthread_create(&filler, NULL, fill_pages, NULL) != 0)
        return NULL;
    return pages;
}

struct record {
    long key;
    const char *name;
};

__attribute__((noinline)) static int look_up(const struct record *record, int *out)
{
    *out = 1; // crashes here
    return (int)record->key;
}

__attribute__((noinline)) static void *look_up_null(void *record)
{
    return (void *)(long)look_up(record, NULL);
}

static void look_up_on(char *stack, size_t bytes, void *record)
{
    pthread_attr_t attributes;
    pthread_t thread;
    pthread_attr_init(&attributes);
    pthread_attr_setstack(&attributes, stack, bytes);
    pthread_create(&thread, &attributes, look_up_null, record);
    pthread_join(thread, NULL);
}

static char *map_file(const char *path)
{
    int fd = open(path, O_RDONLY);
    char *pages = mmap(NULL, PAGE, PROT_READ, MAP_PRIVATE, fd, 0);
    close(fd); // at the end that would wait for the server
    return pages != MAP_FAILED ? pages : NULL;
}

int main(int count, char **words)
{
    const char *how = count > 1 ? words[1] : "";
    void *(*call)(void *(*)(void *), void *) = NULL;
    char *pages = NULL;
    int go_on;
    sigset_t wanted;
    sigemptyset(&wanted);
    sigaddset(&wanted, SIGUSR1);
    sigprocmask(SIG_BLOCK, &wanted, NULL);
    if (strcmp(how, "filled") == 0 || strcmp(how, "stack") == 0)
        pages = map_filled();
    if (strcmp(how, "file") == 0)
        pages = map_file(words[2]);
    if (strcmp(how, "library") == 0) {
        void *library = dlopen(words[2], RTLD_NOW);
        call = library != NULL
                   ? (void *(*)(void *(*)(void *), void *))dlsym(library, "call_back")
                   : NULL;
    }
    if (pages == NULL && call == NULL)
        return 77;
    printf("%d\n", getpid());
    fflush(stdout);
    sigwait(&wanted, &go_on); // a server may be stopped meanwhile
    if (strcmp(how, "stack") == 0)
        look_up_on(pages + STACK_PAGE * PAGE, STACK_PAGES * PAGE, pages);
    if (call != NULL)
        return (int)(long)call(look_up_null, NULL);
    return (int)(long)look_up_null(pages);
}
