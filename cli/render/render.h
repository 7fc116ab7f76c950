// SPDX-License-Identifier: Apache-2.0
//
// A report as a person reads it, in a terminal or a file.
//
// The first line says what happened and where; then comes the crashed thread, innermost
// frame first, with the program's in-app frames plain and system frames dim, and the
// other threads, with equal stacks folded into one. A report is text from strangers:
// characters that could control a terminal are escaped. Users: show, export, finish,
// attach, core.
#pragma once
#include <jansson.h>
#include <stdbool.h>
#include <stdio.h>

#include "base/cursor.h"
#include "base/settings/settings.h"
#include "base/text.h"

struct render_style {
    enum setting_preset preset; // AUTO counts as MEDIUM
    enum setting_registers registers;
    bool crashed_only; // leave the other threads out
    bool no_images;    // leave the list of images out
    bool linker_names; // names of functions as linkers have them
    bool colour;
    unsigned width;        // of a line; 0: any
    struct cursor sources; // a source bundle of the build; empty: none
};

// render_style_for is the style that fits the output: colour and line breaks only on a
// terminal (NO_COLOR is honoured), and there the friendly preset if preset is auto.
// NULL: a file.
struct render_style render_style_for(FILE *to, enum setting_preset preset);

// render_style_set is that style, changed by what settings say of how reports are
// printed, except for images.
struct render_style render_style_set(FILE *to, const struct settings *settings);

// render_report writes report, which report_parse accepted or the agent made.
void render_report(const json_t *report, const struct render_style *style, FILE *to);

// render_report_text appends the same to out: as many whole lines as fit into
// limit_bytes. It returns how many bytes were left out.
size_t render_report_text(const json_t *report, const struct render_style *style,
                          size_t limit_bytes, struct text *out);
