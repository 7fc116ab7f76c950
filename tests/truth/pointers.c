// SPDX-License-Identifier: Apache-2.0
//
// Null pointers whose member or element was computed before, small integers, return
// addresses, stacks, huge pages and divisions: what was wrong, and not just the
// address.
//
// all cause: none|null-offset|fill
// all ways: live|core
#include <dirent.h>
#include <limits.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#define OWN __attribute__((noinline)) static

struct node {
    struct node *next;
    int key;
    char name[16];
};

static volatile long zero;
static volatile long number = 42;
static long array_bytes;

OWN size_t name_length(const struct node *from)
{
    size_t length = strlen(from->name);
    __asm__ volatile("" : "+r"(length));
    return length;
}

// case name_of_null
//   kind: null-dereference
//   in: name_length
//   says: Read from 0xc, through a null pointer
//   variable: from
//   never: small number
//   builds: -static -musl
static int name_of_null(void)
{
    return (int)name_length((struct node *)zero);
}

OWN int last_before(const int *end)
{
    int value = end[-1];
    __asm__ volatile("" : "+r"(value));
    return value;
}

// case before_null
//   kind: null-dereference
//   in: before
//   says: Read from 0xfffffffffffffffc, through a null pointer
//   variable: end|zero
static int before_null(void)
{
    return last_before((const int *)zero);
}

OWN int read_handle(const int *handle)
{
    int value = *handle;
    __asm__ volatile("" : "+r"(value));
    return value;
}

// case small_handle
//   kind: small-pointer
//   in: _handle
//   says: Read from 0x2a, a small number and not an address
//   variable: handle|number
static int small_handle(void)
{
    return read_handle((const int *)number);
}

OWN void clear(char *at, int count)
{
    for (int i = 0; i < count; i++)
        at[i] = 0;
}

__attribute__((noinline, optimize("no-stack-protector"))) static int parse(int count)
{
    char header[16];
    clear(header, count);
    __asm__ volatile("" : : "r"(header) : "memory");
    return header[3];
}

// case cleared_return
//   kind: overwritten-return
//   in: -
//   says: Jump to 0x0, where nothing is mapped; a return led there: its address was
//     overwritten
//   never: null pointer
//   builds: gcc O1
static int cleared_return(void)
{
    return parse(96 + (int)zero) + 1;
}

OWN int divide(const int *by)
{
    int value = (INT_MIN + (int)zero) / *by;
    __asm__ volatile("" : "+r"(value));
    return value;
}

// case quotient
//   signal: FPE
//   kind: division-overflow
//   in: divide
//   says: Integer division whose result is too large
//   never: by zero
static int quotient(void)
{
    int by = -1 + (int)zero;
    return divide(&by);
}

// case huge_page
//   signal: BUS
//   kind: memory-limit
//   in: huge_page
//   says: Write to 0x[0-9a-f]+, for which no huge page is free
OWN int huge_page(void)
{
    enum { BYTES = 2 << 20 };
    char *at = mmap(NULL, BYTES, PROT_READ | PROT_WRITE,
                    MAP_PRIVATE | MAP_ANONYMOUS | MAP_HUGETLB | MAP_NORESERVE, -1, 0);
    at[0] = 1;
    return at[1];
}

OWN int fill_array(long bytes)
{
    char array[bytes];
    array[0] = 1;
    __asm__ volatile("" : : "r"(array) : "memory");
    return array[0];
}

static void *fill_in_thread(void *unused)
{
    (void)unused;
    return (void *)(long)fill_array(array_bytes);
}

static int fill_small_stack(long bytes)
{
    pthread_t thread;
    pthread_attr_t attributes;
    array_bytes = bytes;
    pthread_attr_init(&attributes);
    pthread_attr_setstacksize(&attributes, 65536);
    pthread_create(&thread, &attributes, fill_in_thread, NULL);
    return pthread_join(thread, NULL);
}

// case large_array
//   kind: stack-overflow
//   in: fill_array
//   says: Stack overflow
//   builds: -musl O0
static int large_array(void)
{
    return fill_small_stack(10L << 20);
}

// case largest_array
//   kind: stack-overflow
//   in: fill_array
//   says: Stack overflow
//   builds: -musl O0
static int largest_array(void)
{
    return fill_small_stack(1L << 30);
}

// case unmapped_code
//   kind: use-after-unmap
//   in: unmapped_code
//   says: Jump to 0x[0-9a-f]+, where nothing is mapped; probably code that was unmapped
//   never: library
OWN int unmapped_code(void)
{
    enum { BYTES = 1 << 20, RETURN = 0xc3 };
    unsigned char *code = mmap(NULL, BYTES, PROT_READ | PROT_WRITE | PROT_EXEC,
                               MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    void (*volatile call)(void) = (void (*)(void))code;
    code[0] = RETURN;
    call();
    munmap(code, BYTES);
    call();
    return code[0];
}

struct job {
    int handle; // too short for what it is to hold
    int number;
};

OWN long result_of(const struct job *job)
{
    long *result = (long *)(intptr_t)job->handle;
    long value = *result;
    __asm__ volatile("" : "+r"(value));
    return value;
}

// case int_handle
//   cause: truncated
//   kind: unknown
//   in: result_of
//   says: .* is the lower half of a pointer, 0x2000f0000000.*; it was taken from
//     `job->handle`, which has 4 bytes, at pointers.c:\d+$
//   variable: result|none
//   builds: O0
static int int_handle(void)
{
    long *volatile result =
        mmap((void *)(uintptr_t)UINT64_C(0x2000f0000000), 4096, PROT_READ | PROT_WRITE,
             MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
    struct job job = { .handle = (int)(intptr_t)result, .number = (int)number };
    __asm__ volatile("" : : "r"(&job) : "memory");
    return (int)result_of(&job);
}

// case named_member
//   kind: null-dereference
//   in: name_length
//   says: .*; `from->name` is 12 bytes from it$
//   builds: O0 -static -musl
static int named_member(void)
{
    return (int)name_length((struct node *)zero);
}

struct counter {
    long total;
    pthread_mutex_t lock;
    int by_hour[24];
};

OWN int add(struct counter *to, long hour)
{
    pthread_mutex_lock(&to->lock);
    __asm__ volatile("" : : : "memory");
    return to->by_hour[hour];
}

// case lock_of_null
//   kind: null-dereference|small-pointer
//   in: add
//   says: Read from 0x18,
//   variable: to|none
//   never: `mutex`
//   builds: -static -musl
static int lock_of_null(void)
{
    return add((struct counter *)zero, 3);
}

OWN int of_hour(const struct counter *in, long hour)
{
    int value = in->by_hour[hour];
    __asm__ volatile("" : "+r"(value));
    return value;
}

// case hour_of_null
//   kind: null-dereference
//   in: of_hour
//   says: Read from 0x(5c|64), through a null pointer .*; `in`, an argument of
//     of_hour, is null; `in->by_hour\[11\]` is (92|100) bytes from it$
//   builds: O0
static int hour_of_null(void)
{
    return of_hour((struct counter *)zero, 11 + zero);
}

OWN long total_of(const pthread_mutex_t *lock)
{
    __asm__ volatile("" : "+r"(lock)); // or clang -O3 has the caller read the total
    const struct counter *whole = (const struct counter *)((const char *)lock - 8);
    long value = whole->total;
    __asm__ volatile("" : "+r"(value));
    return value;
}

// case around_null
//   kind: null-dereference|small-pointer
//   in: total_of
//   says: Read from 0xfffffffffffffff8
//   variable: lock|whole|zero
//   never: kernel
static int around_null(void)
{
    return (int)total_of((pthread_mutex_t *)zero);
}

struct message {
    unsigned kind : 4, length : 12;
    int *parts;
};

OWN int part_of(const struct message *in, int number)
{
    int value = in->parts[number];
    __asm__ volatile("" : "+r"(value));
    return value;
}

// case part_of_null
//   kind: null-dereference
//   in: part_of
//   says: Read from 0x[0c], through a null pointer .*; `.*parts` is null
//   builds: O0
static int part_of_null(void)
{
    struct message message = { .length = 3, .parts = (int *)zero };
    __asm__ volatile("" : : "r"(&message) : "memory");
    return part_of(&message, 3 * (number == 42));
}

OWN int last_part(const struct message *in)
{
    int value = ((const char *)in->parts)[in->length];
    __asm__ volatile("" : "+r"(value));
    return value;
}

// case length_of_null
//   kind: null-dereference
//   in: last_part
//   says: Read from 0xc8, through a null pointer .*; `(in|message)(->|\.)parts` is null
//   builds: O0
static int length_of_null(void)
{
    struct message message = { .length = 200, .parts = (int *)zero };
    __asm__ volatile("" : : "r"(&message) : "memory");
    return last_part(&message);
}

static struct user {
    char name[16];
    const char *shell;
} users[3] = { { "root", "/bin/sh" }, { "bin", NULL }, { "sys", "/bin/sh" } };

OWN int user_of(const char *shell)
{
    int found = 0;
    while (strcmp(users[found].shell, shell) != 0)
        found++;
    return found;
}

// case shell_of_user
//   kind: null-dereference
//   in: user_of
//   says: Read from 0x0, through a null pointer .*; `users\[found\]\.shell` is null
//   builds: O0 -static -musl
static int shell_of_user(void)
{
    return user_of(number == 42 ? "/bin/other" : "/bin/sh");
}

OWN int trace_of(double **rows, int count)
{
    double sum = 0;
    for (int i = 0; i < count; i++)
        sum += rows[i][i];
    return (int)sum;
}

// case row_of_null
//   kind: null-dereference
//   in: trace_of
//   says: Read from 0x10, through a null pointer .*; `rows\[i\]` is null
//   builds: O0 -static -musl
static int row_of_null(void)
{
    double row[4] = { 0 };
    double *rows[] = { row, row, NULL, row };
    return trace_of(rows, 4);
}

OWN long seat_of(const long *seats, int seat)
{
    return seats[seat];
}

// case far_after
//   kind: unknown
//   in: seat_of
//   says: Read from 0x[0-9a-f]+, where nothing is mapped .*; `seat`.* is 2,000,000,000
//   variable: seat
//   builds: -lto -musl
static int far_after(void)
{
    static long seats[4];
    static long *volatile all = seats;
    static volatile int seat = 2000000000;
    return (int)seat_of(all, seat);
}

struct view {
    const char *base;
    long size;
};

OWN int sum_of(const struct view *view)
{
    int sum = 0;
    for (long i = 0; i < view->size; i++)
        sum += view->base[i];
    return sum;
}

// case after_unmap
//   kind: unknown|use-after-unmap
//   in: sum_of
//   says: Read from 0x.*; `view->base` is 0x
//   builds: O0 -static -musl
static int after_unmap(void)
{
    const int flags = MAP_PRIVATE | MAP_ANONYMOUS;
    struct view view = { mmap(NULL, 65536, PROT_READ, flags, -1, 0), 65536 };
    munmap((void *)view.base, 65536);
    return sum_of(&view);
}

struct queue {
    long size;
    char *jobs;
};

OWN void close_queue(struct queue *queue)
{
    free(queue->jobs);
    free(queue);
}

// case closed_twice
//   kind: non-canonical-address|heap-corruption|unknown
//   in: close_queue
//   says: .*`queue->jobs` is 0x.* malloc put into freed memory at 0x
//   cause: freed-chunk
//   builds: O0 -static -musl
static int closed_twice(void)
{
    struct queue *queue = malloc(sizeof(*queue));
    queue->jobs = malloc(sizeof(*queue));
    close_queue(queue);
    close_queue(queue);
    return 0;
}

struct either {
    int tag;
    union {
        long i;
        struct node *node;
    } u;
};

OWN int key_of_number(const struct either *from)
{
    int key = from->u.node->key;
    __asm__ volatile("" : "+r"(key), "+r"(from));
    return key;
}

// case number_as_pointer
//   builds: -stripped
//   kind: small-pointer
//   in: -
//   says: .*`(from->u.node|number)` is .*
//   variable: from->u.node|number
static int number_as_pointer(void)
{
    struct either from = { 1, { .i = number } };
    __asm__ volatile("" : : "r"(&from) : "memory");
    return key_of_number(&from);
}

OWN int byte_at_number(const char *text, const struct either *from)
{
    int value = text[from->u.i];
    __asm__ volatile("" : "+r"(value), "+r"(from));
    return value;
}

// case index_in_union
//   kind: unknown
//   in: -
//   says: Read from 0x
//   never: u\.node
static int index_in_union(void)
{
    static char bytes[16];
    const char *text = bytes;
    struct either from = { 1, { .i = 0x1234567890 } };
    __asm__ volatile("" : "+r"(text) : "r"(&from) : "memory");
    return byte_at_number(text, &from);
}

struct several {
    int tag;
    union {
        long i;
        struct node *node;
        char *text;
    } u;
};

OWN int text_of_number(const struct several *from)
{
    int first = from->u.text[1];
    __asm__ volatile("" : "+r"(first), "+r"(from));
    return first;
}

// case number_in_union
//   builds: -stripped
//   kind: small-pointer
//   in: -
//   says: .*`(from->u|number)` is .*
//   variable: from->u|number
static int number_in_union(void)
{
    struct several from = { 1, { .i = number } };
    __asm__ volatile("" : : "r"(&from) : "memory");
    return text_of_number(&from);
}

// case letter_of_literal
//   kind: write-to-read-only
//   says: Write to 0x[0-9a-f]+, which is read-only memory.*; `text`, .* of set_letter,
//     is
//   variable: text
//   in: set_letter
OWN void set_letter(char *text)
{
    text[2] = 'x';
    __asm__ volatile("" : : "r"(text) : "memory");
}

static int letter_of_literal(void)
{
    set_letter((char *)((uintptr_t) "literal" + (uintptr_t)zero));
    return 0;
}

// The compiler knows this argument, and passes 0: nothing proves that this is it.
OWN size_t length_of_name(const char *name, int more)
{
    size_t length = strlen(name);
    __asm__ volatile("" : "+r"(length));
    return length + (size_t)more;
}

// case known_null
//   kind: null-dereference
//   in: length_of_name
//   says: Read from 0x0, through a null pointer
//   variable: name|none
//   builds: -static -musl
static int known_null(void)
{
    return (int)length_of_name(NULL, (int)number);
}

// It cannot tell which of these two is null.
OWN size_t length_of_either(const char *first, const char *second)
{
    size_t length = strlen(first);
    __asm__ volatile("" : "+r"(length));
    return length + (second == NULL);
}

// case one_of_two
//   kind: null-dereference
//   in: length_of_either
//   says: Read from 0x0, through a null pointer
//   variable: first|none
//   builds: -static -musl
static int one_of_two(void)
{
    return (int)length_of_either(NULL, NULL);
}

OWN size_t length_of_nothing(const char *unused, int more)
{
    size_t length = strlen(NULL);
    __asm__ volatile("" : "+r"(length));
    return length + (size_t)more;
}

// case null_beside_unused
//   kind: null-dereference
//   in: length_of_nothing
//   says: Read from 0x0, through a null pointer
//   variable: none
//   never: `unused`
//   builds: -static -musl
static int null_beside_unused(void)
{
    return (int)length_of_nothing(NULL, (int)number);
}

// The C library adds to the pointer before it uses it, when the caller has lost it.
OWN int begin_again(DIR *directory)
{
    rewinddir(directory);
    return (int)number;
}

// case null_directory
//   kind: null-dereference
//   in: begin_again
//   says: (Read|Write) (from|to) 0x[0-9a-f]+, through a null pointer
//   variable: directory
//   builds: -static -musl
static int null_directory(void)
{
    return begin_again((DIR *)zero);
}

OWN int read_entry(DIR *directory)
{
    return readdir(directory) != NULL && number != 0;
}

// case known_null_directory
//   kind: null-dereference
//   in: read_entry
//   says: (Read|Write) (from|to) 0x[0-9a-f]+, through a null pointer
//   variable: directory|none
//   builds: -static -musl
static int known_null_directory(void)
{
    return read_entry(NULL);
}

OWN int write_letter(FILE *stream)
{
    return fputc('x', stream) + (int)number;
}

// case null_stream
//   kind: null-dereference
//   in: write_letter
//   says: Read from 0x[0-9a-f]+, through a null pointer
//   variable: stream
//   builds: -static -musl
static int null_stream(void)
{
    return write_letter((FILE *)zero);
}

static char *volatile searched[2] = { NULL, "needle" };

OWN void search(char *first, char *second)
{
    number += strstr(first, second) != NULL;
}

// Functions of the C library move what they were passed to other registers.
//
// case null_searched
//   kind: null-dereference
//   in: search
//   says: Read from 0x0, through a null pointer
//   variable: first|searched\[0\]
//   builds: -static -musl
static int null_searched(void)
{
    search(searched[0], searched[1]);
    return 1;
}

struct box {
    int count;
    struct node *node;
};

static struct box empty_box;
static struct box *volatile shelf = &empty_box;

OWN int weigh(const struct box *box)
{
    int weight = box->node->key;
    __asm__ volatile("" : "+r"(weight));
    return weight + 1;
}

// Compilers pass the member in place of the structure.
//
// case null_in_box
//   kind: null-dereference
//   in: -
//   says: Read from 0x8, through a null pointer
//   variable: box->node|of->node|shelf->node|empty_box.node
static int null_in_box(void)
{
    struct box *of = shelf;
    return weigh(of) + (int)number;
}

static const struct {
    const char *name;
    int (*crash)(void);
} cases[] = {
    { "name_of_null", name_of_null },
    { "before_null", before_null },
    { "small_handle", small_handle },
    { "cleared_return", cleared_return },
    { "quotient", quotient },
    { "huge_page", huge_page },
    { "large_array", large_array },
    { "largest_array", largest_array },
    { "unmapped_code", unmapped_code },
    { "int_handle", int_handle },
    { "named_member", named_member },
    { "lock_of_null", lock_of_null },
    { "hour_of_null", hour_of_null },
    { "around_null", around_null },
    { "part_of_null", part_of_null },
    { "length_of_null", length_of_null },
    { "shell_of_user", shell_of_user },
    { "row_of_null", row_of_null },
    { "after_unmap", after_unmap },
    { "closed_twice", closed_twice },
    { "far_after", far_after },
    { "number_as_pointer", number_as_pointer },
    { "number_in_union", number_in_union },
    { "index_in_union", index_in_union },
    { "letter_of_literal", letter_of_literal },
    { "known_null", known_null },
    { "one_of_two", one_of_two },
    { "null_beside_unused", null_beside_unused },
    { "null_directory", null_directory },
    { "known_null_directory", known_null_directory },
    { "null_stream", null_stream },
    { "null_searched", null_searched },
    { "null_in_box", null_in_box },
};

int main(int argc, char **argv)
{
    for (size_t i = 0; argc == 2 && i < sizeof(cases) / sizeof(cases[0]); i++)
        if (strcmp(cases[i].name, argv[1]) == 0)
            return cases[i].crash();
    return 2;
}
