// SPDX-License-Identifier: Apache-2.0
//
// processor signed|landing|tagged: crashes under what new AArch64 processors check.
// Return addresses are signed, as this is compiled with
// -mbranch-protection=pac-ret+leaf.
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>

#ifndef PROT_BTI
#define PROT_BTI 0x10
#endif
#ifndef PROT_MTE
#define PROT_MTE 0x20
#endif

static volatile int *volatile nowhere;

__attribute__((noinline)) static void crash_signed(void)
{
    *nowhere = 1; // crashes here
}

__attribute__((noinline)) static int descend_signed(int depth)
{
    if (depth > 0)
        return descend_signed(depth - 1) + 1;
    crash_signed();
    return 0;
}

// crash_landing calls code that is no landing pad: nop, ret.
__attribute__((noinline)) static void crash_landing(void)
{
    static const unsigned code[] = { 0xd503201f, 0xd65f03c0 };
    char *page =
        mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    memcpy(page, code, sizeof(code));
    __builtin___clear_cache(page, page + sizeof(code));
    if (mprotect(page, 4096, PROT_READ | PROT_EXEC | PROT_BTI) != 0)
        return;
    ((void (*)(void))page)();
    *page = 0; // that this is no tail call
}

// crash_tagged writes through a pointer whose tag is not that of the memory.
__attribute__((noinline)) static void crash_tagged(void)
{
    const unsigned long any_tag = 0xfffeUL << PR_MTE_TAG_SHIFT;
    prctl(PR_SET_TAGGED_ADDR_CTRL, PR_TAGGED_ADDR_ENABLE | PR_MTE_TCF_SYNC | any_tag, 0,
          0, 0);
    char *page = mmap(NULL, 4096, PROT_READ | PROT_WRITE | PROT_MTE,
                      MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    char *tagged = (char *)((unsigned long)page | 5UL << 56);
    __asm__ volatile("stg %0, [%0]" ::"r"(tagged) : "memory");
    *(volatile char *)tagged = 1;
    *(volatile char *)((unsigned long)page | 6UL << 56) = 1;
}

int main(int argc, char **argv)
{
    const char *how = argc > 1 ? argv[1] : "signed";
    if (strcmp(how, "landing") == 0)
        crash_landing();
    else if (strcmp(how, "tagged") == 0)
        crash_tagged();
    else
        return descend_signed(5);
    return 1;
}
