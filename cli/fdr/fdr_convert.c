// SPDX-License-Identifier: Apache-2.0
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/key_index.h"
#include "cli/fdr/fdr_export.h"
#include "cli/fdr/fdr_names.h"
#include "cli/fdr/fdr_trace.h"
#include "cli/session/command.h"
#include "formats/interchange/fdr_calls.h"

enum {
    NODES_MAX = 1 << 20,
    DEPTH_MAX = 65536, // of a stack
    TOP_DEFAULT = 10,
    // Each stack is printed in full, so a recursion prints the square of its depth. All
    // stacks together have at most this many functions, and more for each record.
    FUNCTIONS_MIN = 1 << 22,
    FUNCTIONS_PER_RECORD = 16,
};

// HAS_CALLEES in a call's tag says that it made calls that have nodes, LEFT_OUT that
// its node is that of its caller, to whose own time it counts. The rest is its node.
#define HAS_CALLEES 0x80000000u
#define LEFT_OUT 0x40000000u

// A stack_node is a function with the functions that called it. Node 0 is the root; of
// trees by thread, its children are the threads.
struct stack_node {
    uint32_t parent;
    uint32_t function; // of a thread its tid
    uint32_t depth;
    uint64_t count;
    uint64_t sum;        // cycles
    uint64_t leaf_count; // of calls that made no calls
    uint64_t leaf_sum;
    uint64_t callees; // cycles in the calls that it made
};

struct stack_tree {
    struct fdr_trace *trace;
    struct fdr_names *names;
    struct fdr_calls calls;
    struct stack_node *nodes;
    size_t count;
    size_t capacity;
    struct key_index numbers; // of nodes, by parent and function
    uint64_t functions_left;  // that new stacks may have
    uint64_t left_out;
    bool by_thread;
    bool failed; // no memory
    struct text label;
};

static void stack_tree_deinit(struct stack_tree *tree)
{
    fdr_calls_deinit(&tree->calls);
    free(tree->nodes);
    free(tree->numbers.slots);
    text_deinit(&tree->label);
}

// stack_child gives parent's node for function. If there are too many, it is parent.
static uint32_t stack_child(struct stack_tree *tree, uint32_t parent, uint32_t function)
{
    uint32_t *number = key_index_place(&tree->numbers, tree->count - 1,
                                       (uint64_t)parent << 32 | function);
    if (number != NULL && *number != 0)
        return *number;
    uint32_t depth = tree->nodes[parent].depth + 1;
    if (tree->count == NODES_MAX || depth > DEPTH_MAX || depth > tree->functions_left) {
        tree->left_out++;
        return parent;
    }
    if (number == NULL || !array_reserve(&tree->nodes, &tree->capacity, tree->count,
                                         sizeof(*tree->nodes))) {
        tree->failed = true;
        return parent;
    }
    tree->nodes[tree->count] =
        (struct stack_node){ .parent = parent, .function = function, .depth = depth };
    tree->functions_left -= depth;
    return *number = (uint32_t)tree->count++;
}

static uint32_t stack_root(struct stack_tree *tree, int32_t tid)
{
    return tree->by_thread ? stack_child(tree, 0, (uint32_t)tid) : 0;
}

static void stack_enter(void *context, struct fdr_calls_thread *thread,
                        struct fdr_call *call)
{
    struct stack_tree *tree = context;
    const bool outermost = call == thread->open;
    uint32_t parent =
        outermost ? stack_root(tree, thread->tid) : call[-1].tag & (LEFT_OUT - 1);
    uint32_t node = parent;
    if (outermost || (call[-1].tag & LEFT_OUT) == 0)
        node = stack_child(tree, parent, call->function);
    call->tag = node != parent ? node : parent | LEFT_OUT;
    if (!outermost && node != parent)
        call[-1].tag |= HAS_CALLEES;
}

static void stack_leave(void *context, const struct fdr_calls_thread *thread,
                        const struct fdr_call *call, uint64_t end,
                        enum fdr_call_end how)
{
    struct stack_tree *tree = context;
    struct stack_node *node = &tree->nodes[call->tag & (LEFT_OUT - 1)];
    uint64_t time = end - call->begin;
    (void)thread;
    (void)how;
    if ((call->tag & LEFT_OUT) != 0)
        return;
    node->count++;
    node->sum += time;
    tree->nodes[node->parent].callees += time;
    if ((call->tag & HAS_CALLEES) != 0)
        return;
    node->leaf_count++;
    node->leaf_sum += time;
}

static enum ch_status stack_record(void *context, const struct fdr_record *record)
{
    struct stack_tree *tree = context;
    if (record->kind == FDR_CUSTOM_EVENT)
        fdr_names_note(tree->names, record);
    tree->functions_left += FUNCTIONS_PER_RECORD;
    enum ch_status status = fdr_calls_add(&tree->calls, record);
    return tree->failed ? CH_ERR_NO_MEMORY : status;
}

static enum ch_status stack_read_profile(struct stack_tree *tree)
{
    CH_CLEANUP(text_deinit) struct text data = { 0 };
    struct xray_profile profile;
    struct xray_path path;
    enum ch_status status = fdr_trace_profile(tree->trace, &data, &profile);
    while (status == CH_OK && (status = xray_profile_next(&profile, &path)) == CH_OK) {
        uint32_t at = stack_root(tree, (int32_t)path.tid);
        tree->functions_left += FUNCTIONS_PER_RECORD * path.count;
        for (size_t i = path.count; i > 0; i--)
            at = stack_child(tree, at, path.functions[i - 1]);
        struct stack_node *node = &tree->nodes[at];
        node->count += path.calls;
        node->sum += path.time;
        tree->nodes[node->parent].callees += path.time;
    }
    for (size_t i = 1; i < tree->count; i++) { // whether a call made calls is not known
        struct stack_node *node = &tree->nodes[i];
        node->leaf_count = node->callees == 0 ? node->count : 0;
        node->leaf_sum = node->callees == 0 ? node->sum : 0;
    }
    return status == CH_END ? CH_OK : status;
}

// stack_read reads the whole trace into tree. Calls that are still open at its end
// count with the time that they had lasted.
static enum ch_status stack_read(struct stack_tree *tree)
{
    const struct fdr_calls_user user = { tree, stack_enter, stack_leave };
    fdr_calls_init(&tree->calls, &user);
    if (!array_reserve(&tree->nodes, &tree->capacity, 0, sizeof(*tree->nodes)))
        return CH_ERR_NO_MEMORY;
    tree->nodes[tree->count++] = (struct stack_node){ .parent = 0 };
    tree->functions_left = FUNCTIONS_MIN;
    if (tree->trace->mode == FDR_TRACE_PROFILE)
        return stack_read_profile(tree);
    enum ch_status status = fdr_trace_read(tree->trace, stack_record, tree);
    fdr_calls_finish(&tree->calls);
    return status;
}

// stack_ns is cycles in nanoseconds, if their length is known.
static uint64_t stack_ns(const struct stack_tree *tree, uint64_t cycles)
{
    uint64_t frequency = tree->trace->header.cycles_per_second;
    return frequency == 0
               ? cycles
               : (uint64_t)((unsigned __int128)cycles * 1000000000 / frequency);
}

// stack_path lists the nodes from the outermost function to node. It returns their
// number.
static size_t stack_path(const struct stack_tree *tree, uint32_t node,
                         uint32_t path[static DEPTH_MAX])
{
    size_t count = 0;
    for (uint32_t at = node; at != 0; at = tree->nodes[at].parent)
        path[count++] = at;
    for (size_t i = 0; i < count / 2; i++) {
        uint32_t swapped = path[i];
        path[i] = path[count - 1 - i];
        path[count - 1 - i] = swapped;
    }
    return count;
}

static bool stack_is_thread(const struct stack_tree *tree, uint32_t node)
{
    return tree->by_thread && tree->nodes[node].parent == 0;
}

static void stack_show(struct stack_tree *tree, uint32_t node)
{
    if (stack_is_thread(tree, node)) {
        text_clear(&tree->label);
        text_appendf(&tree->label, "thread %" PRId32,
                     (int32_t)tree->nodes[node].function);
        return;
    }
    fdr_names_show(tree->names, tree->nodes[node].function, &tree->label);
}

static uint32_t path_nodes[DEPTH_MAX];

// stack_fold_name prints a name as a part of a folded stack, in which a semicolon
// separates names.
static void stack_fold_name(struct stack_tree *tree, uint32_t node)
{
    stack_show(tree, node);
    for (size_t i = 0; i < tree->label.size; i++)
        putchar(tree->label.bytes[i] == ';' ? ':' : tree->label.bytes[i]);
}

static int stack_result(const struct stack_tree *tree, enum ch_status status)
{
    if (tree->calls.unmatched != 0)
        fprintf(stderr, "crashhook: %" PRIu64 " exits without an entry are left out\n",
                tree->calls.unmatched);
    if (tree->left_out + tree->calls.left_out != 0)
        fputs(
            "crashhook: some calls count as their callers' time, because there are too "
            "many stacks, or too deep ones\n",
            stderr);
    return fdr_trace_result(tree->trace, status);
}

// fdr_stack_fold prints each stack as a line "outer;inner TIME", TIME being what the
// innermost function took itself, in nanoseconds (in cycles where their length is
// unknown). It returns the exit code.
static int fdr_stack_fold(struct fdr_trace *trace, struct fdr_names *names,
                          bool by_thread)
{
    CH_CLEANUP(stack_tree_deinit)
    struct stack_tree tree = { .trace = trace, .names = names, .by_thread = by_thread };
    enum ch_status status = stack_read(&tree);
    for (uint32_t node = 1; node < tree.count; node++) {
        const struct stack_node *at = &tree.nodes[node];
        uint64_t own = at->sum > at->callees ? at->sum - at->callees : 0;
        if (at->count == 0)
            continue;
        size_t count = stack_path(&tree, node, path_nodes);
        for (size_t i = 0; i < count; i++) {
            if (i != 0)
                putchar(';');
            stack_fold_name(&tree, path_nodes[i]);
        }
        printf(" %" PRIu64 "\n", stack_ns(&tree, own));
    }
    return stack_result(&tree, status);
}

static const struct stack_tree *order_tree;
static bool order_by_count;

static int stack_compare(const void *left, const void *right)
{
    const struct stack_node *a = &order_tree->nodes[*(const uint32_t *)left];
    const struct stack_node *b = &order_tree->nodes[*(const uint32_t *)right];
    uint64_t first = order_by_count ? a->leaf_count : a->leaf_sum;
    uint64_t second = order_by_count ? b->leaf_count : b->leaf_sum;
    if (first != second)
        return first > second ? -1 : 1;
    return (a > b) - (a < b);
}

static void stack_print_text(struct stack_tree *tree, uint32_t node)
{
    const struct stack_node *leaf = &tree->nodes[node];
    size_t count = stack_path(tree, node, path_nodes);
    printf("%" PRIu64 " %s in %" PRIu64 " calls that made none\n",
           stack_ns(tree, leaf->leaf_sum),
           tree->trace->header.cycles_per_second != 0 ? "ns" : "cycles",
           leaf->leaf_count);
    for (size_t i = 0; i < count; i++) {
        const struct stack_node *at = &tree->nodes[path_nodes[i]];
        stack_show(tree, path_nodes[i]);
        printf("  #%-3zu %-50s", i, tree->label.bytes);
        if (!stack_is_thread(tree, path_nodes[i]))
            printf(" %12" PRIu64 " %16" PRIu64, at->count, stack_ns(tree, at->sum));
        putchar('\n');
    }
    putchar('\n');
}

static void stack_print_json(struct stack_tree *tree, uint32_t node, bool first)
{
    const struct stack_node *leaf = &tree->nodes[node];
    size_t count = stack_path(tree, node, path_nodes);
    bool named = stack_is_thread(tree, path_nodes[0]);
    printf("%s{", first ? "\n " : ",\n ");
    if (named)
        printf("\"thread\":%" PRId32 ",", (int32_t)tree->nodes[path_nodes[0]].function);
    fputs("\"ids\":[", stdout);
    for (size_t i = named; i < count; i++)
        printf("%s%" PRIu32, i > named ? "," : "", tree->nodes[path_nodes[i]].function);
    fputs("],\"stack\":[", stdout);
    for (size_t i = named; i < count; i++) {
        stack_show(tree, path_nodes[i]);
        fputs(i > named ? "," : "", stdout);
        json_print_string(tree->label.bytes, tree->label.size);
    }
    printf("],\"count\":%" PRIu64 ",\"sum\":%" PRIu64 ",\"leaf_count\":%" PRIu64
           ",\"leaf_sum\":%" PRIu64 "}",
           leaf->count, stack_ns(tree, leaf->sum), leaf->leaf_count,
           stack_ns(tree, leaf->leaf_sum));
}

// stack_print prints the stacks in their order: as text those with calls that made
// none, as JSON all.
static void stack_print(struct stack_tree *tree, const uint32_t *order, size_t count,
                        bool json)
{
    size_t leaves = 0;
    for (size_t i = 1; i < tree->count; i++)
        leaves += tree->nodes[i].leaf_count != 0;
    if (json)
        printf("{\"unit\":\"%s\",\"unique_stacks\":%zu,\"stacks\":[",
               tree->trace->header.cycles_per_second != 0 ? "ns" : "cycles", leaves);
    else
        printf("%zu stacks end in a call that made none\n\n", leaves);
    for (size_t i = 0; i < count; i++) {
        if (json)
            stack_print_json(tree, order[i], i == 0);
        else if (tree->nodes[order[i]].leaf_count != 0)
            stack_print_text(tree, order[i]);
    }
    if (json)
        puts("]}");
}

static enum ch_status stack_list(struct stack_tree *tree, const struct options *options)
{
    const char *top = options_value(options, "top");
    const char *by = options_value(options, "by");
    bool json = options_given(options, "json");
    size_t most = top != NULL ? strtoul(top, NULL, 10) : json ? SIZE_MAX : TOP_DEFAULT;
    size_t count = 0;
    uint32_t *order = calloc(tree->count, sizeof(*order));
    if (order == NULL)
        return CH_ERR_NO_MEMORY;
    for (uint32_t i = 1; i < tree->count; i++) {
        if (!stack_is_thread(tree, i))
            order[count++] = i;
    }
    order_tree = tree;
    order_by_count = by != NULL && strcmp(by, "count") == 0;
    if (count != 0)
        qsort(order, count, sizeof(*order), stack_compare);
    stack_print(tree, order, count < most ? count : most, json);
    free(order);
    return CH_OK;
}

static int run_fdr_stack(const struct options *options)
{
    struct fdr_trace trace = { .fd = -1 };
    struct fdr_names *names = NULL;
    const char *by = options_value(options, "by");
    int result = COMMAND_FAILED;
    if (by != NULL && strcmp(by, "sum") != 0 && strcmp(by, "count") != 0)
        return command_misused("fdr stack: --by takes sum or count");
    if (fdr_trace_open(&trace, options->arguments[0]) == CH_OK &&
        fdr_names_open(&names, options) == CH_OK) {
        CH_CLEANUP(stack_tree_deinit)
        struct stack_tree tree = { .trace = &trace,
                                   .names = names,
                                   .by_thread = options_given(options, "by-thread") };
        enum ch_status status = stack_read(&tree);
        if (status == CH_OK)
            status = stack_list(&tree, options);
        result = stack_result(&tree, status);
    }
    fdr_names_close(names);
    fdr_trace_close(&trace);
    return result;
}

static const struct option stack_options[] = {
    { "json", NULL, "print all stacks as JSON, times in nanoseconds", 0 },
    { "by", "sum|count", "order by time (the default) or number of calls", 0 },
    { "by-thread", NULL, "stacks of each thread, otherwise of all together", 0 },
    { "top", "N", "only the first N stacks (as text 10)", 0 },
    FDR_NAMES_OPTIONS,
    { 0 },
};

const struct command fdr_stack_command = {
    .name = "fdr stack",
    .arguments = "FILE",
    .summary = "The call stacks in which the most time was spent",
    .options = stack_options,
    .run = run_fdr_stack,
    .arguments_min = 1,
    .arguments_max = 1,
};

struct conversion {
    struct fdr_trace trace;
    struct fdr_names *names;
    struct fdr_calls calls;
    uint64_t first_tsc; // times are relative to it
    bool chrome;
    bool begun;
    int32_t tid; // of the last line of text
    int32_t pid; // 0: not known
    struct text label;
};

static void conversion_deinit(struct conversion *to)
{
    fdr_trace_close(&to->trace);
    fdr_names_close(to->names);
    fdr_calls_deinit(&to->calls);
    text_deinit(&to->label);
}

// convert_seconds is a time since the trace's first record, or cycles if their length
// is not known.
static long double convert_seconds(const struct conversion *to, uint64_t tsc)
{
    int64_t cycles = (int64_t)(tsc - to->first_tsc);
    uint64_t frequency = to->trace.header.cycles_per_second;
    return frequency != 0 ? (long double)cycles / (long double)frequency
                          : (long double)cycles;
}

static void convert_begin_event(struct conversion *to, char phase, int32_t tid,
                                uint64_t tsc)
{
    printf("%s{\"ph\":\"%c\",\"pid\":%" PRId32 ",\"tid\":%" PRId32 ",\"ts\":%.4Lf",
           to->begun ? ",\n" : "\n", phase, to->pid, tid,
           convert_seconds(to, tsc) *
               (to->trace.header.cycles_per_second != 0 ? 1e6L : 1));
    to->begun = true;
}

static void convert_name(struct conversion *to, uint32_t function)
{
    fdr_names_show(to->names, function, &to->label);
    fputs(",\"name\":", stdout);
    json_print_string(to->label.bytes, to->label.size);
}

static void convert_line(struct conversion *to, const struct fdr_calls_thread *thread,
                         uint64_t tsc)
{
    if (!to->begun || to->tid != thread->tid)
        printf("thread %" PRId32 "\n", thread->tid);
    to->begun = true;
    to->tid = thread->tid;
    printf("%16.9Lf %*s", convert_seconds(to, tsc),
           fdr_trace_indentation(thread->open_count - 1), "");
}

static void convert_enter(void *context, struct fdr_calls_thread *thread,
                          struct fdr_call *call)
{
    struct conversion *to = context;
    if (to->chrome) {
        convert_begin_event(to, 'B', thread->tid, call->begin);
        convert_name(to, call->function);
        putchar('}');
        return;
    }
    fdr_names_show(to->names, call->function, &to->label);
    convert_line(to, thread, call->begin);
    printf("> %s\n", to->label.bytes);
}

static void convert_leave(void *context, const struct fdr_calls_thread *thread,
                          const struct fdr_call *call, uint64_t end,
                          enum fdr_call_end how)
{
    struct conversion *to = context;
    if (to->chrome && how == FDR_CALL_OPEN) // an event without its end did not finish
        return;
    if (to->chrome) {
        convert_begin_event(to, 'E', thread->tid, end);
        convert_name(to, call->function);
        printf(",\"cat\":\"%s\"}", fdr_call_end_name(how));
        return;
    }
    fdr_names_show(to->names, call->function, &to->label);
    convert_line(to, thread, end);
    printf("< %s  %.9Lf%s%s%s\n", to->label.bytes,
           convert_seconds(to, end) - convert_seconds(to, call->begin),
           how != FDR_CALL_RETURNED ? " (" : "",
           how != FDR_CALL_RETURNED ? fdr_call_end_name(how) : "",
           how != FDR_CALL_RETURNED ? ")" : "");
}

// convert_event prints what a program logged, if it is no name of ours.
static void convert_event(struct conversion *to, const struct fdr_record *record)
{
    static const size_t prefix = sizeof(FDR_EXPORT_NAME) - 1;
    if (!to->chrome ||
        (record->size > prefix && memcmp(record->data, FDR_EXPORT_NAME, prefix) == 0))
        return;
    convert_begin_event(to, 'i', record->tid, record->tsc);
    fputs(",\"s\":\"t\",\"name\":", stdout);
    if (record->kind == FDR_TYPED_EVENT)
        printf("\"typed event %u\"}", record->type);
    else {
        json_print_string((const char *)record->data, (size_t)record->size);
        putchar('}');
    }
}

static enum ch_status convert_record(void *context, const struct fdr_record *record)
{
    struct conversion *to = context;
    switch (record->kind) {
    case FDR_PID:
        to->pid = record->pid;
        return CH_OK;
    case FDR_FUNCTION:
        if (to->first_tsc == 0)
            to->first_tsc = record->tsc;
        if (record->pid != 0)
            to->pid = record->pid;
        return fdr_calls_add(&to->calls, record);
    case FDR_CUSTOM_EVENT:
        fdr_names_note(to->names, record);
        convert_event(to, record);
        return CH_OK;
    case FDR_TYPED_EVENT:
        convert_event(to, record);
        return CH_OK;
    default:
        return CH_OK;
    }
}

static int convert_calls(struct conversion *to)
{
    const struct fdr_calls_user user = { to, convert_enter, convert_leave };
    if (to->trace.mode == FDR_TRACE_PROFILE)
        return command_fail("'%s' is a profile, which has no single calls; use "
                            "--format folded",
                            to->trace.path);
    to->first_tsc = to->trace.first_tsc;
    fdr_calls_init(&to->calls, &user);
    fputs(to->chrome ? "{\"displayTimeUnit\":\"ns\",\"traceEvents\":[" : "", stdout);
    enum ch_status status = fdr_trace_read(&to->trace, convert_record, to);
    fdr_calls_finish(&to->calls);
    fputs(to->chrome ? "\n]}\n" : "", stdout);
    if (to->calls.unmatched != 0)
        fprintf(stderr, "crashhook: %" PRIu64 " exits without an entry are left out\n",
                to->calls.unmatched);
    return fdr_trace_result(&to->trace, status);
}

static int run_fdr_convert(const struct options *options)
{
    CH_CLEANUP(conversion_deinit) struct conversion to = { .trace = { .fd = -1 } };
    const char *format = options_value(options, "format");
    bool fold = format != NULL && strcmp(format, "folded") == 0;
    to.chrome = format == NULL || strcmp(format, "chrome") == 0;
    if (options_given(options, "json") && !to.chrome)
        return command_misused("fdr convert: --json is --format chrome");
    if (!to.chrome && !fold && strcmp(format, "text") != 0)
        return command_misused("fdr convert: --format takes chrome, folded or text");
    if (fdr_trace_open(&to.trace, options->arguments[0]) != CH_OK ||
        fdr_names_open(&to.names, options) != CH_OK)
        return COMMAND_FAILED;
    if (fold)
        return fdr_stack_fold(&to.trace, to.names, options_given(options, "by-thread"));
    return convert_calls(&to);
}

static const struct option convert_options[] = {
    { "format", "chrome|folded|text",
      "trace events for Chrome and speedscope (the default), stacks for flame graphs, "
      "or calls with their nesting",
      0 },
    { "json", NULL, "trace events, which are JSON: --format chrome", 0 },
    { "by-thread", NULL, "folded: stacks begin with their thread", 0 },
    FDR_NAMES_OPTIONS,
    { 0 },
};

const struct command fdr_convert_command = {
    .name = "fdr convert",
    .arguments = "FILE",
    .summary = "A trace of calls as Chrome trace events, folded stacks or text",
    .options = convert_options,
    .run = run_fdr_convert,
    .arguments_min = 1,
    .arguments_max = 1,
};
