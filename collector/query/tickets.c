// SPDX-License-Identifier: Apache-2.0
#include "collector/query/tickets.h"

#include "collector/store/store_internal.h"

enum ch_status ticket_is_newer(struct store *store, const struct ticket *ticket)
{
    int64_t found = 0;
    const struct sql_value values[] = { sql_text(ticket->project),
                                        sql_text(ticket->url), sql_text(ticket->sum),
                                        sql_number(ticket->changed_ms) };
    enum ch_status status =
        store_ask(store, STORE_TICKET_KNOWN, values, 4, sql_count_row, &found);
    return status == CH_OK && found != 0 ? CH_END : status;
}

enum ch_status ticket_note(struct store *store, const struct ticket *ticket,
                           char error[STORE_ERROR_SIZE])
{
    const struct sql_value values[] = {
        sql_text(ticket->project),      sql_text(ticket->url),
        sql_text(ticket->group),        sql_text(ticket->title),
        sql_text(ticket->state),        sql_text(ticket->sum),
        sql_number(ticket->changed_ms),
    };
    const struct store_step step = { STORE_TICKET_NOTE, values, 7, NULL };
    return store_change(store, "keep an issue", &step, 1, error);
}

struct ticket_listing {
    ticket_fn *visit;
    void *context;
};

static void list_ticket(void *context, const struct sql_row *row)
{
    const struct ticket_listing *listing = context;
    const struct ticket ticket = { .project = "",
                                   .url = sql_column_text(row, "url"),
                                   .group = sql_column_text(row, "group_id"),
                                   .title = sql_column_text(row, "title"),
                                   .state = sql_column_text(row, "state"),
                                   .sum = "",
                                   .changed_ms = sql_column_number(row, "changed") };
    listing->visit(listing->context, &ticket);
}

enum ch_status tickets_list(struct store *store, const char *group, ticket_fn *visit,
                            void *context)
{
    struct ticket_listing listing = { visit, context };
    const struct sql_value values[] = { sql_text(group), sql_number(TICKETS_SHOWN) };
    return store_ask(store, STORE_TICKETS, values, 2, list_ticket, &listing);
}
