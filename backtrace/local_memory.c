// SPDX-License-Identifier: Apache-2.0
#include "backtrace/local_memory.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>

// Sanitizers would report reads of another frame's memory as errors.
#define UNCHECKED __attribute__((no_sanitize("address", "thread")))

// stack_bounds are the bounds of the calling thread's stack, which stay the same while
// it lives.
struct stack_bounds {
    bool known;
    uint64_t low;
    uint64_t high;
};

static _Thread_local struct stack_bounds own_stack;

static void find_stack(struct stack_bounds *bounds)
{
    pthread_attr_t attributes;
    void *low;
    size_t size;
    bounds->known = true;
    if (pthread_getattr_np(pthread_self(), &attributes) != 0)
        return;
    if (pthread_attr_getstack(&attributes, &low, &size) == 0) {
        bounds->low = (uintptr_t)low;
        bounds->high = (uintptr_t)low + size;
    }
    pthread_attr_destroy(&attributes);
}

void local_memory_use_stack(struct local_memory *memory, uint64_t sp)
{
    if (!own_stack.known)
        find_stack(&own_stack);
    local_memory_forget_stack(memory);
    if (sp < own_stack.low || sp >= own_stack.high)
        return;
    memory->stack_low = sp;
    memory->stack_high = own_stack.high;
}

void local_memory_forget_stack(struct local_memory *memory)
{
    memory->stack_low = 0;
    memory->stack_high = 0;
}

void local_memory_deinit(struct local_memory *memory)
{
    free(memory->pages);
    *memory = (struct local_memory){ 0 };
}

UNCHECKED static void copy_stack(uint64_t address, unsigned char *to, size_t length)
{
    const volatile unsigned char *from =
        (const volatile unsigned char *)(uintptr_t)address;
    if (length == sizeof(uint64_t) && address % sizeof(uint64_t) == 0) {
        uint64_t word = *(const volatile uint64_t *)(uintptr_t)address;
        memcpy(to, &word, sizeof(word));
        return;
    }
    for (size_t i = 0; i < length; i++)
        to[i] = from[i];
}

static size_t read_kernel(uint64_t address, void *to, size_t length)
{
    struct iovec local = { .iov_base = to, .iov_len = length };
    struct iovec remote = { .iov_base = (void *)(uintptr_t)address, .iov_len = length };
    ssize_t size = process_vm_readv(getpid(), &local, 1, &remote, 1, 0);
    return size > 0 ? (size_t)size : 0;
}

// is_kept_code says whether page is code of an image, which does not change as long as
// the list of images does not.
static bool is_kept_code(const struct local_memory *memory, uint64_t page)
{
    const struct target_image *image =
        memory->images != NULL ? images_find(memory->images, page) : NULL;
    return image != NULL && page < image->end_of_text;
}

// kept_page gives the bytes of the page at address page, or NULL if it cannot be
// cached.
static const uint8_t *kept_page(struct local_memory *memory, uint64_t page)
{
    size_t index = (page / LOCAL_PAGE_BYTES) % LOCAL_PAGES;
    if (memory->pages != NULL && memory->page_address[index] == page)
        return memory->pages + index * LOCAL_PAGE_BYTES;
    if (!is_kept_code(memory, page))
        return NULL;
    if (memory->pages == NULL)
        memory->pages = malloc((size_t)LOCAL_PAGES * LOCAL_PAGE_BYTES);
    if (memory->pages == NULL)
        return NULL;
    uint8_t *bytes = memory->pages + index * LOCAL_PAGE_BYTES;
    memory->page_address[index] = 0; // until it is read completely
    if (read_kernel(page, bytes, LOCAL_PAGE_BYTES) != LOCAL_PAGE_BYTES)
        return NULL;
    memory->page_address[index] = page;
    return bytes;
}

static size_t read_local(void *source, uint64_t address, void *to, size_t length)
{
    struct local_memory *memory = source;
    if (address >= memory->stack_low && address < memory->stack_high &&
        length <= memory->stack_high - address) {
        copy_stack(address, to, length);
        return length;
    }
    uint64_t inside = address % LOCAL_PAGE_BYTES;
    const uint8_t *page = NULL;
    if (length <= LOCAL_PAGE_BYTES - inside)
        page = kept_page(memory, address - inside);
    if (page == NULL)
        return read_kernel(address, to, length);
    memcpy(to, page + inside, length);
    return length;
}

struct memory_reader local_memory_reader(struct local_memory *memory)
{
    return (struct memory_reader){ .read = read_local, .source = memory };
}
