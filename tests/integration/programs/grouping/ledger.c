// SPDX-License-Identifier: Apache-2.0
#include "ledger.h"

#include <assert.h>
#include <signal.h>
#include <stdarg.h>
#include <sys/mman.h>

#define KEPT __attribute__((noinline))

static long total;

// Small functions that optimizers inline.
static void entry_write(struct entry *entry, long amount)
{
    entry->amount = amount;
}

static void null_store(void)
{
    entry_write(BAD(struct entry *), 7);
}

static void header_inline(void)
{
    total += ledger_amount(BAD(struct entry *));
}

KEPT static long list_sum(struct entry *list)
{
    long sum = 0;
    for (; list != NULL; list = list->next)
        sum += list->amount;
    return sum;
}

static void broken_list(void)
{
    struct entry second = { .next = BAD(struct entry *), .amount = 2 };
    struct entry first = { .next = &second, .amount = 1 };
    total += list_sum(&first);
}

static void copy_name(struct entry *entry, const char *name)
{
    memcpy(entry->name, name, sizeof(entry->name) - (size_t)zero);
    total += entry->name[3];
}

static void bad_copy(void)
{
    struct entry entry;
    copy_name(&entry, BAD(const char *));
}

KEPT static size_t name_length(const char *name)
{
    return strlen(name) + 1;
}

static void bad_length(void)
{
    total += (long)name_length(BAD(const char *));
}

KEPT static void release_twice(struct entry *volatile entry)
{
    free(entry);
    free(entry);
}

static void double_free(void)
{
    release_twice(malloc(sizeof(struct entry)));
}

KEPT static void release_inside(char *block)
{
    free(block + 8 + zero);
}

static void invalid_free(void)
{
    release_inside(malloc(64));
}

KEPT static void give_up(int state)
{
    if (state != 1)
        abort();
    total++;
}

static void plain_abort(void)
{
    give_up((int)zero);
}

// Two assertions in one function stay apart.
KEPT static void check_entry(const struct entry *entry)
{
    assert(entry->amount >= 0);
    assert(entry->next != NULL);
    total++;
}

static void first_assertion(void)
{
    check_entry(&(struct entry){ .amount = zero - 1 });
}

static void second_assertion(void)
{
    check_entry(&(struct entry){ .amount = zero });
}

// A helper that only reports, in two places.
void ledger_die(const char *why)
{
    fprintf(journal, "ledger: %s\n", why);
    abort();
}

KEPT static void open_journal(const char *path)
{
    if (path[0] != '/')
        ledger_die("the journal has no path");
    total++;
}

KEPT static void close_journal(long left)
{
    if (left == 0)
        ledger_die("the journal is empty");
    total++;
}

static void die_opening(void)
{
    open_journal("x");
}

static void die_closing(void)
{
    close_journal(zero);
}

// A helper that calls a helper.
__attribute__((format(printf, 1, 0), noreturn)) static void
log_vfatal(const char *format, va_list list)
{
    vfprintf(journal, format, list);
    abort();
}

__attribute__((format(printf, 1, 2), noreturn)) static void
log_fatal(const char *format, ...)
{
    va_list list;
    va_start(list, format);
    log_vfatal(format, list);
}

KEPT static void parse_amount(const char *text)
{
    if (text[0] == 'x')
        log_fatal("no amount: %s\n", text);
    total += text[0];
}

static void fatal_parsing(void)
{
    parse_amount("x");
}

KEPT static int walk_down(struct entry *entry, int depth)
{
    volatile char frame[256];
    frame[depth & 255] = (char)depth;
    return walk_down(entry, depth + 1) + frame[depth & 127];
}

static void overflow_self(void)
{
    total += walk_down(NULL, 0);
}

static int sum_right(int depth);

KEPT static int sum_left(int depth)
{
    volatile char frame[192];
    frame[depth & 127] = (char)depth;
    return sum_right(depth + 1) + frame[depth & 63];
}

KEPT static int sum_right(int depth)
{
    volatile char frame[320];
    frame[depth & 255] = (char)depth;
    return sum_left(depth + 1) + frame[depth & 63];
}

static void overflow_mutual(void)
{
    total += sum_left(0);
}

KEPT static long visit_tree(struct entry *node, int depth)
{
    volatile long here = depth;
    if (depth > 5)
        return node->amount + here;
    return visit_tree(node, depth + 1) + here;
}

static void recursive_null(void)
{
    total += visit_tree(BAD(struct entry *), 0);
}

KEPT static long average_amount(long sum, long count)
{
    return sum / count;
}

static void divide_zero(void)
{
    total += average_amount(7, zero);
}

KEPT static void apply_rule(long (*rule)(long))
{
    total += rule(3) + 1;
}

static void wild_call(void)
{
    apply_rule(BAD(long (*)(long)));
}

KEPT static int compare_entries(const void *a, const void *b)
{
    const struct entry *const *x = a;
    const struct entry *const *y = b;
    return (int)((*x)->amount - (*y)->amount);
}

KEPT static void sort_entries(struct entry **list, size_t count)
{
    qsort(list, count, sizeof(*list), compare_entries);
    total++;
}

static void bad_compare(void)
{
    struct entry good = { .amount = 1 };
    struct entry *list[] = { &good, BAD(struct entry *), &good };
    sort_entries(list, 3);
}

KEPT static void print_entry(const struct entry *entry)
{
    char text[256];
    snprintf(text, sizeof(text), "%s", entry->name);
    total += text[0];
}

static void bad_print(void)
{
    print_entry(BAD(const struct entry *));
}

KEPT static void trap_here(long value)
{
    if (value == 0)
        __builtin_trap();
    total += value;
}

static void builtin_trap(void)
{
    trap_here(zero);
}

KEPT static void raise_signal(void)
{
    raise(SIGSEGV);
    total++;
}

KEPT static void write_constant(char *text)
{
    text[zero] = 'x';
}

static void read_only(void)
{
    static const char text[] = "constant";
    write_constant((char *)(uintptr_t)text);
}

KEPT static void read_mapped(const volatile char *file)
{
    total += file[0];
}

static void truncated_file(void)
{
    FILE *file = tmpfile();
    if (file == NULL || ftruncate(fileno(file), 4096) != 0)
        _exit(3);
    char *bytes = mmap(NULL, 4096, PROT_READ, MAP_SHARED, fileno(file), 0);
    if (bytes == MAP_FAILED || ftruncate(fileno(file), 0) != 0)
        _exit(3);
    read_mapped(bytes);
}

// A name of one word, as many files have.
KEPT static long parse(const char *text)
{
    return text[4] * 2L;
}

static void one_word(void)
{
    total += parse(BAD(const char *));
}

KEPT static void *thread_body(void *argument)
{
    struct entry *entry = argument;
    entry->amount = 3;
    return entry;
}

static void in_thread(void)
{
    pthread_t thread;
    if (pthread_create(&thread, NULL, thread_body, BAD(void *)) == 0)
        pthread_join(thread, NULL);
}

const struct bug ledger_bugs[] = {
    { "null_store:entry_write", null_store },
    { "header_inline:ledger_amount", header_inline },
    { "broken_list:list_sum", broken_list },
    { "bad_copy:copy_name", bad_copy },
    { "bad_length:name_length", bad_length },
    { "double_free:release_twice", double_free },
    { "invalid_free:release_inside", invalid_free },
    { "plain_abort:give_up", plain_abort },
    { "first_assertion:check_entry", first_assertion },
    { "second_assertion:check_entry", second_assertion },
    { "die_opening:open_journal", die_opening },
    { "die_closing:close_journal", die_closing },
    { "fatal_parsing:parse_amount", fatal_parsing },
    { "overflow_self:walk_down", overflow_self },
    { "overflow_mutual:sum_left", overflow_mutual },
    { "recursive_null:visit_tree", recursive_null },
    { "divide_zero:average_amount", divide_zero },
    { "wild_call:apply_rule", wild_call },
    { "bad_compare:compare_entries", bad_compare },
    { "bad_print:print_entry", bad_print },
    { "builtin_trap:trap_here", builtin_trap },
    { "raise_signal:raise_signal", raise_signal },
    { "read_only:write_constant", read_only },
    { "truncated_file:read_mapped", truncated_file },
    { "one_word:parse", one_word },
    { "in_thread:thread_body", in_thread },
    { NULL, NULL },
};
