// SPDX-License-Identifier: Apache-2.0
//
// `fdr account` and `fdr graph`: durations of calls by function, and by caller and
// callee.
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/key_index.h"
#include "cli/fdr/fdr_latency.h"
#include "cli/fdr/fdr_names.h"
#include "cli/fdr/fdr_trace.h"
#include "cli/session/command.h"
#include "formats/interchange/fdr_calls.h"

// account_field is a field of a row, in the order of columns.
enum account_field {
    BY_ID,
    BY_COUNT,
    BY_MIN,
    BY_MEDIAN,
    BY_P90,
    BY_P99,
    BY_MAX,
    BY_SUM,
    BY_NAME,
    FIELD_COUNT
};

// field_names has our word for each field, and llvm-xray's where that is another.
static const char *const field_names[FIELD_COUNT][2] = {
    [BY_ID] = { "id", "funcid" },   [BY_COUNT] = { "count", NULL },
    [BY_MIN] = { "min", NULL },     [BY_MEDIAN] = { "median", "med" },
    [BY_P90] = { "p90", "90p" },    [BY_P99] = { "p99", "99p" },
    [BY_MAX] = { "max", NULL },     [BY_SUM] = { "sum", NULL },
    [BY_NAME] = { "name", "func" },
};

struct account {
    struct fdr_trace trace;
    struct fdr_names *names;
    struct fdr_calls calls;
    struct latencies functions;
    struct latencies edges; // of graph: the caller's id in the upper half of the key
    bool with_edges;
    bool refining;
    bool outermost_only;
    struct key_index open; // of outermost_only: 1 + open calls, by thread and function
    size_t open_count;     // of those that were ever open
    bool json;
    enum ch_status status; // of adding durations
    struct text label;
};

static void account_deinit(struct account *account)
{
    fdr_trace_close(&account->trace);
    fdr_names_close(account->names);
    fdr_calls_deinit(&account->calls);
    latencies_deinit(&account->functions);
    latencies_deinit(&account->edges);
    free(account->open.slots);
    text_deinit(&account->label);
}

static uint32_t *account_place_open(struct account *account,
                                    const struct fdr_calls_thread *thread,
                                    const struct fdr_call *call)
{
    uint32_t *open = key_index_place(&account->open, account->open_count,
                                     (uint64_t)thread->tid << 32 | call->function);
    if (open == NULL)
        account->status = CH_ERR_NO_MEMORY;
    return open;
}

static void account_enter(void *context, struct fdr_calls_thread *thread,
                          struct fdr_call *call)
{
    struct account *account = context;
    uint32_t *open =
        account->outermost_only ? account_place_open(account, thread, call) : NULL;
    if (open == NULL || (*open == 0 && account->open_count == LATENCY_KEYS_MAX))
        return;
    account->open_count += *open == 0;
    *open += *open == 0 ? 2 : 1;
}

// account_end_open notes the end of call, and returns true if no other call of the same
// function is open in the thread.
static bool account_end_open(struct account *account,
                             const struct fdr_calls_thread *thread,
                             const struct fdr_call *call)
{
    uint32_t *open = account_place_open(account, thread, call);
    if (open == NULL)
        return false;
    account->functions.left_out += *open == 0 && !account->refining;
    *open -= *open != 0;
    return *open == 1;
}

static void account_leave(void *context, const struct fdr_calls_thread *thread,
                          const struct fdr_call *call, uint64_t end,
                          enum fdr_call_end how)
{
    struct account *account = context;
    uint32_t caller = call > thread->open ? call[-1].function : 0;
    if (how == FDR_CALL_OPEN || account->status != CH_OK ||
        (account->outermost_only && !account_end_open(account, thread, call)))
        return;
    if (!account->refining || account->functions.refining)
        account->status =
            latencies_add(&account->functions, call->function, end - call->begin);
    if (account->with_edges && account->status == CH_OK &&
        (!account->refining || account->edges.refining))
        account->status =
            latencies_add(&account->edges, (uint64_t)caller << 32 | call->function,
                          end - call->begin);
}

static enum ch_status account_record(void *context, const struct fdr_record *record)
{
    struct account *account = context;
    if (record->kind == FDR_CUSTOM_EVENT)
        fdr_names_note(account->names, record);
    enum ch_status status = fdr_calls_add(&account->calls, record);
    return status == CH_OK ? account->status : status;
}

static enum ch_status account_profile(struct account *account)
{
    CH_CLEANUP(text_deinit) struct text data = { 0 };
    struct xray_profile profile;
    struct xray_path path;
    enum ch_status status = fdr_trace_profile(&account->trace, &data, &profile);
    while (status == CH_OK && (status = xray_profile_next(&profile, &path)) == CH_OK) {
        if (path.count == 0)
            continue;
        uint64_t caller = path.count > 1 ? path.functions[1] : 0;
        status = latencies_add_total(&account->functions, path.functions[0], path.calls,
                                     path.time);
        if (status == CH_OK)
            status =
                latencies_add_total(&account->edges, caller << 32 | path.functions[0],
                                    path.calls, path.time);
    }
    return status == CH_END ? CH_OK : status;
}

// account_read reads the whole trace, and once more if that makes percentiles exact.
static enum ch_status account_read(struct account *account)
{
    const struct fdr_calls_user user = { account, account_enter, account_leave };
    fdr_calls_init(&account->calls, &user);
    if (account->trace.mode == FDR_TRACE_PROFILE)
        return account_profile(account);
    enum ch_status status = fdr_trace_read(&account->trace, account_record, account);
    latencies_finish(&account->functions);
    latencies_finish(&account->edges);
    bool functions = latencies_refine(&account->functions);
    bool edges = latencies_refine(&account->edges);
    if (status != CH_OK || (!functions && !edges))
        return status;
    account->refining = true;
    struct fdr_trace once_more = account->trace;
    fdr_calls_deinit(&account->calls);
    fdr_calls_init(&account->calls, &user);
    free(account->open.slots);
    account->open = (struct key_index){ .slots = NULL };
    account->open_count = 0;
    status = fdr_trace_read(&once_more, account_record, account);
    if (functions)
        latencies_finish(&account->functions);
    if (edges)
        latencies_finish(&account->edges);
    return status;
}

static bool account_open(struct account *account, const struct options *options)
{
    account->json = options_given(options, "json");
    return fdr_trace_open(&account->trace, options->arguments[0]) == CH_OK &&
           fdr_names_open(&account->names, options) == CH_OK;
}

static uint64_t account_field_value(const struct latency_row *row,
                                    enum account_field field)
{
    const uint64_t values[] = { row->key, row->count, row->min, row->median,
                                row->p90, row->p99,   row->max, row->sum };
    return values[field < BY_NAME ? field : BY_ID];
}

// account_print_time prints cycles as nanoseconds, if their length is known.
static void account_print_time(const struct account *account, uint64_t cycles)
{
    uint64_t frequency = account->trace.header.cycles_per_second;
    if (frequency == 0 || frequency == 1000000000)
        printf("%" PRIu64, cycles);
    else
        printf("%.3Lf", (long double)cycles * 1e9L / (long double)frequency);
}

static const char *account_unit(const struct account *account)
{
    return account->trace.header.cycles_per_second != 0 ? "ns" : "cycles";
}

static bool account_row_has(const struct latency_row *row, enum account_field field)
{
    return field <= BY_COUNT || field == BY_SUM || row->min != UINT64_MAX;
}

static void account_print_row_json(struct account *account,
                                   const struct latency_row *row)
{
    for (enum account_field field = BY_COUNT; field <= BY_SUM; field++) {
        if (!account_row_has(row, field))
            continue;
        printf(",\"%s\":", field_names[field][0]);
        if (field == BY_COUNT)
            printf("%" PRIu64, row->count);
        else
            account_print_time(account, account_field_value(row, field));
    }
    putchar('}');
}

static void account_print_name_json(struct account *account, const char *key,
                                    uint32_t id)
{
    const char *name = fdr_names_find(account->names, id);
    if (name == NULL)
        return;
    printf(",\"%s\":", key);
    json_print_string(name, strlen(name));
}

static void account_print_row_text(struct account *account,
                                   const struct latency_row *row)
{
    uint64_t frequency = account->trace.header.cycles_per_second;
    printf("%8" PRIu64 " %10" PRIu64, row->key, row->count);
    for (enum account_field field = BY_MIN; field <= BY_SUM; field++) {
        uint64_t cycles = account_field_value(row, field);
        if (!account_row_has(row, field))
            printf(" %12s", "-");
        else if (frequency == 0)
            printf(" %12" PRIu64, cycles);
        else
            printf(" %12.9Lf", (long double)cycles / (long double)frequency);
    }
    fdr_names_show(account->names, (uint32_t)row->key, &account->label);
    printf("  %s\n", account->label.bytes);
}

// Of the sort, which qsort cannot pass on.
static struct {
    struct fdr_names *names;
    enum account_field field;
    bool descending;
} account_order;

static int account_compare(const void *left, const void *right)
{
    const struct latency_row *a = left;
    const struct latency_row *b = right;
    int order = 0;
    if (account_order.field == BY_NAME) {
        const char *first = fdr_names_find(account_order.names, (uint32_t)a->key);
        const char *second = fdr_names_find(account_order.names, (uint32_t)b->key);
        order = strcmp(first != NULL ? first : "", second != NULL ? second : "");
    } else {
        uint64_t first = account_field_value(a, account_order.field);
        uint64_t second = account_field_value(b, account_order.field);
        order = (first > second) - (first < second);
    }
    if (account_order.descending)
        order = -order;
    return order != 0 ? order : (a->key > b->key) - (a->key < b->key);
}

// account_sort reads the options of the order, and sorts rows. false: they are wrong.
static bool account_sort(struct account *account, const struct options *options)
{
    const char *field = options_value(options, "sort");
    const char *order = options_value(options, "order");
    account_order.names = account->names;
    account_order.field = field == NULL ? BY_ID : FIELD_COUNT;
    for (int i = 0; field != NULL && i < FIELD_COUNT; i++) {
        if (strcmp(field, field_names[i][0]) == 0 ||
            (field_names[i][1] != NULL && strcmp(field, field_names[i][1]) == 0))
            account_order.field = i;
    }
    account_order.descending = order != NULL && strcmp(order, "dsc") == 0;
    if (account_order.field == FIELD_COUNT ||
        (order != NULL && !account_order.descending && strcmp(order, "asc") != 0))
        return false;
    if (account->functions.row_count != 0)
        qsort(account->functions.rows, account->functions.row_count,
              sizeof(struct latency_row), account_compare);
    return true;
}

// account_warn reports on what the numbers leave out.
static void account_warn(const struct account *account)
{
    const struct fdr_calls *calls = &account->calls;
    if (calls->unmatched != 0)
        fprintf(stderr, "crashhook: %" PRIu64 " exits without an entry are left out\n",
                calls->unmatched);
    if (calls->left_out + account->functions.left_out + account->edges.left_out != 0)
        fputs("crashhook: some calls are left out, because there are too many at a "
              "time or of too many functions\n",
              stderr);
    if (account->functions.exact_bits != 0 && account->functions.exact_bits != 64)
        fprintf(stderr, "crashhook: percentiles are rounded down to %u bits\n",
                account->functions.exact_bits);
}

static void account_print(struct account *account, size_t top)
{
    const struct latencies *all = &account->functions;
    if (account->json)
        printf("{\"cycles_per_second\":%" PRIu64 ",\"unit\":\"%s\",\"functions\":[",
               account->trace.header.cycles_per_second, account_unit(account));
    else
        printf("%8s %10s %12s %12s %12s %12s %12s %12s  %s (%s)\n", "id", "count",
               "min", "median", "p90", "p99", "max", "sum", "function",
               account->trace.header.cycles_per_second != 0 ? "times in seconds"
                                                            : "times in cycles");
    for (size_t i = 0; i < all->row_count && i < top; i++) {
        const struct latency_row *row = &all->rows[i];
        if (!account->json) {
            account_print_row_text(account, row);
            continue;
        }
        printf("%s{\"id\":%" PRIu64, i != 0 ? ",\n " : "\n ", row->key);
        account_print_name_json(account, "name", (uint32_t)row->key);
        account_print_row_json(account, row);
    }
    if (account->json)
        printf("],\"unmatched_exits\":%" PRIu64
               ",\"unfinished\":%zu,\"left_out\":%" PRIu64 ",\"percentile_bits\":%u}\n",
               account->calls.unmatched, account->calls.open_count,
               account->calls.left_out + all->left_out,
               all->exact_bits != 0 ? all->exact_bits : 64);
}

static int run_fdr_account(const struct options *options)
{
    CH_CLEANUP(account_deinit) struct account account = { .trace = { .fd = -1 } };
    const char *top = options_value(options, "top");
    account.outermost_only = options_given(options, "recursive-calls-only");
    if (!account_open(&account, options))
        return COMMAND_FAILED;
    enum ch_status status = account_read(&account);
    if (!account_sort(&account, options))
        return command_misused("fdr account: --sort takes id, count, min, median, p90, "
                               "p99, max, sum or name; --order takes asc or dsc");
    account_print(&account, top != NULL ? strtoul(top, NULL, 10) : SIZE_MAX);
    account_warn(&account);
    return fdr_trace_result(&account.trace, status);
}

// graph_print_label prints a field of a row as a label of dot.
static void graph_print_label(const struct account *account,
                              const struct latency_row *row, enum account_field field)
{
    if (field == BY_COUNT)
        printf("%" PRIu64, row->count);
    else if (account_row_has(row, field)) {
        account_print_time(account, account_field_value(row, field));
        printf(" %s", account_unit(account));
    }
}

static void graph_print_dot(struct account *account, enum account_field field)
{
    puts("digraph xray {\nnode [shape=box];");
    for (size_t i = 0; i < account->functions.row_count; i++) {
        const struct latency_row *row = &account->functions.rows[i];
        fdr_names_show(account->names, (uint32_t)row->key, &account->label);
        printf("F%" PRIu64 " [label=\"", row->key);
        for (size_t k = 0; k < account->label.size; k++) {
            char c = account->label.bytes[k];
            printf(c == '"' || c == '\\' ? "\\%c" : "%c", c);
        }
        fputs("\\n", stdout);
        graph_print_label(account, row, field);
        puts("\"];");
    }
    for (size_t i = 0; i < account->edges.row_count; i++) {
        const struct latency_row *row = &account->edges.rows[i];
        printf("F%" PRIu64 " -> F%" PRIu32 " [label=\"", row->key >> 32,
               (uint32_t)row->key);
        graph_print_label(account, row, field);
        puts("\"];");
    }
    puts("F0 [label=\"(start)\"];\n}");
}

static void graph_print_json(struct account *account)
{
    printf("{\"unit\":\"%s\",\"functions\":[", account_unit(account));
    for (size_t i = 0; i < account->functions.row_count; i++) {
        const struct latency_row *row = &account->functions.rows[i];
        printf("%s{\"id\":%" PRIu64, i != 0 ? ",\n " : "\n ", row->key);
        account_print_name_json(account, "name", (uint32_t)row->key);
        account_print_row_json(account, row);
    }
    fputs("],\n\"calls\":[", stdout);
    for (size_t i = 0; i < account->edges.row_count; i++) {
        const struct latency_row *row = &account->edges.rows[i];
        printf("%s{\"caller\":%" PRIu64 ",\"callee\":%" PRIu32, i != 0 ? ",\n " : "\n ",
               row->key >> 32, (uint32_t)row->key);
        account_print_row_json(account, row);
    }
    puts("]}");
}

static int run_fdr_graph(const struct options *options)
{
    CH_CLEANUP(account_deinit)
    struct account account = { .trace = { .fd = -1 }, .with_edges = true };
    const char *label = options_value(options, "label");
    enum account_field field = label == NULL ? BY_COUNT : FIELD_COUNT;
    for (int i = BY_COUNT; label != NULL && i <= BY_SUM; i++) {
        if (strcmp(label, field_names[i][0]) == 0)
            field = i;
    }
    if (field == FIELD_COUNT)
        return command_misused(
            "fdr graph: --label takes count, min, median, p90, p99, max or sum");
    if (!account_open(&account, options))
        return COMMAND_FAILED;
    enum ch_status status = account_read(&account);
    account_order.field = BY_ID;
    account_order.descending = false;
    if (account.functions.row_count != 0)
        qsort(account.functions.rows, account.functions.row_count,
              sizeof(struct latency_row), account_compare);
    if (account.edges.row_count != 0)
        qsort(account.edges.rows, account.edges.row_count, sizeof(struct latency_row),
              account_compare);
    if (account.json)
        graph_print_json(&account);
    else
        graph_print_dot(&account, field);
    account_warn(&account);
    return fdr_trace_result(&account.trace, status);
}

static const struct option account_options[] = {
    { "json", NULL, "print JSON, times in nanoseconds", 0 },
    { "sort", "FIELD", "id, count, min, median, p90, p99, max, sum or name", 0 },
    { "order", "asc|dsc", "ascending (the default) or descending", 0 },
    { "top", "N", "only the first N functions", 0 },
    { "recursive-calls-only", NULL,
      "of calls inside calls of the same function, only the outermost", 0 },
    FDR_NAMES_OPTIONS,
    { 0 },
};

const struct command fdr_account_command = {
    .name = "fdr account",
    .arguments = "FILE",
    .summary = "The number and durations of calls by function",
    .options = account_options,
    .run = run_fdr_account,
    .arguments_min = 1,
    .arguments_max = 1,
};

static const struct option graph_options[] = {
    { "json", NULL, "print JSON, times in nanoseconds", 0 },
    { "label", "FIELD", "count (the default), min, median, p90, p99, max or sum", 0 },
    FDR_NAMES_OPTIONS,
    { 0 },
};

const struct command fdr_graph_command = {
    .name = "fdr graph",
    .arguments = "FILE",
    .summary = "The calls between functions, for dot",
    .options = graph_options,
    .run = run_fdr_graph,
    .arguments_min = 1,
    .arguments_max = 1,
};
