// SPDX-License-Identifier: Apache-2.0
#include "cli/render/table.h"

#include <string.h>

#include "base/clock.h"
#include "cli/render/render.h"

enum {
    GAP = 2,
    MINUTE = 60,
    HOUR = 3600,
    DAY = 86400,
    MONTH = 30 * DAY,
    YEAR = 365 * DAY,
    DAYS_SAID = 60,
    NARROW = 60,
    BYTES_PER_COLUMN = 8
};

// print_cell prints at most width columns of a cell, and pads it, unless it is the last
// one; 0: all of it.
static void print_cell(const struct pen *pen, const char *cell, unsigned width,
                       bool last)
{
    struct text CH_CLEANUP(text_deinit) escaped = { 0 };
    pen_escape(cell != NULL ? cell : "", &escaped);
    const char *text = text_ok(&escaped) && escaped.size != 0 ? escaped.bytes : "";
    size_t size = strlen(text);
    // A column has few bytes: what is far longer is cut before it is measured.
    if (width != 0 && size > BYTES_PER_COLUMN * (size_t)width) {
        size = BYTES_PER_COLUMN * (size_t)width;
        while (size > 0 && ((unsigned char)text[size] & 0xc0) == 0x80)
            size--;
        escaped.bytes[size] = 0;
    }
    while (width != 0 && size > 0 && pen_columns(text) > width) {
        // Cut whole characters: continuation bytes go with the byte they continue.
        do
            size--;
        while (size > 0 && ((unsigned char)text[size] & 0xc0) == 0x80);
        escaped.bytes[size] = 0;
    }
    pen_plain(pen, "%s", text);
    size_t columns = pen_columns(text);
    if (!last)
        pen_plain(pen, "%*s", (int)(columns < width ? width - columns : 0) + GAP, "");
}

// table_width is the width of column i: the last one gets what the others leave.
static unsigned table_width(const struct table *table, size_t i)
{
    unsigned used = 0;
    if (table->pen.width == 0)
        return 0;
    if (table->columns[i + 1].heading != NULL)
        return table->columns[i].width;
    for (size_t k = 0; k < i; k++)
        used += table->columns[k].width + GAP;
    return table->pen.width > used + table->columns[i].width ? table->pen.width - used
                                                             : table->columns[i].width;
}

struct table table_begin(const struct table_column *columns, FILE *to)
{
    struct render_style style = render_style_for(to, PRESET_AUTO);
    struct table table = {
        .pen = { .to = to, .colour = style.colour, .width = style.width },
        .columns = columns
    };
    const char *headings[TABLE_COLUMNS] = { NULL };
    if (table.pen.width == 0)
        return table;
    if (table.pen.width < NARROW)
        table.pen.width = NARROW;
    for (size_t i = 0; i < TABLE_COLUMNS && columns[i].heading != NULL; i++)
        headings[i] = columns[i].heading;
    pen_set(&table.pen, PEN_DIM);
    table_row(&table, headings);
    pen_set(&table.pen, PEN_PLAIN);
    return table;
}

void table_row(const struct table *table, const char *const *cells)
{
    for (size_t i = 0; i < TABLE_COLUMNS && table->columns[i].heading != NULL; i++)
        print_cell(&table->pen, cells[i], table_width(table, i),
                   table->columns[i + 1].heading == NULL);
    pen_plain(&table->pen, "\n");
}

void table_note(const struct table *table, const char *note)
{
    if (note == NULL || note[0] == 0)
        return;
    pen_set(&table->pen, PEN_DIM);
    pen_plain(&table->pen, "%*s", GAP, "");
    print_cell(&table->pen, note, table->pen.width != 0 ? table->pen.width - GAP : 0,
               true);
    pen_set(&table->pen, PEN_PLAIN);
    pen_plain(&table->pen, "\n");
}

const char *table_age(const char *time, char out[TABLE_AGE_SIZE])
{
    int64_t ms = clock_utc_read(time);
    if (ms < 0)
        return time != NULL ? time : "";
    long long s = (long long)((int64_t)clock_now_ms(CLOCK_REALTIME) - ms) / 1000;
    if (s < MINUTE)
        (void)snprintf(out, TABLE_AGE_SIZE, "now");
    else if (s < HOUR)
        (void)snprintf(out, TABLE_AGE_SIZE, "%lld min", s / MINUTE);
    else if (s < DAY)
        (void)snprintf(out, TABLE_AGE_SIZE, "%lld h", s / HOUR);
    else if (s < DAYS_SAID * (long long)DAY)
        (void)snprintf(out, TABLE_AGE_SIZE, "%lld d", s / DAY);
    else if (s < 2 * (long long)YEAR)
        (void)snprintf(out, TABLE_AGE_SIZE, "%lld mo", s / MONTH);
    else
        (void)snprintf(out, TABLE_AGE_SIZE, "%lld y", s / YEAR);
    return out;
}
