// SPDX-License-Identifier: Apache-2.0
//
// A report as a person reads it, in a terminal or a file.
//
// The first line says what happened where; then come the crashed thread, innermost
// frame first, its own frames plain and system frames dim, and the other threads, those
// with equal stacks folded into one. What a report says is written by strangers:
// whatever could steer a terminal is shown escaped. Users: show, export, finish,
// attach, core.
#pragma once
#include <jansson.h>
#include <stdbool.h>
#include <stdio.h>

#include "base/settings.h"

struct render_style {
    enum setting_preset preset; // AUTO counts as MEDIUM
    bool crashed_only;          // leave the other threads out
    bool colour;
    unsigned width; // of a line; 0: any
};

// render_style_for is the style that suits where the text goes: colour and line breaks
// on a terminal alone (NO_COLOR is honoured), and friendly there where preset is auto.
struct render_style render_style_for(FILE *to, enum setting_preset preset);

// render_report writes report, which report_parse has accepted or the agent has made.
void render_report(const json_t *report, const struct render_style *style, FILE *to);
