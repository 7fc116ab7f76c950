// SPDX-License-Identifier: Apache-2.0
//
// The variables, one row each, in the order in which documents list them.
//
// SETTINGS stands for ROW(name, option, kind, member, fallback, accepted, help) of each
// variable: its option of `crashhook run` (NULL: none), how its value is parsed and
// where in struct settings it goes, the default as a user would type it ("": none),
// what is accepted as messages say it ("": SETTING_ACCEPTED), and one sentence. A WORD
// accepts the words that stand there, in the order of the member's enum: "no, yes or
// tty", in small letters.
//
// settings.c makes the rules of it that are part of every program, settings_help.c what
// documents and options need.
#pragma once
#include "shared/signals.h"

// SETTING_SIGNAL_WORD is one of the words that CRASHHOOK_SIGNALS takes: " SEGV".
#define SETTING_SIGNAL_WORD(name, role, text) SETTING_WORD_##role(name)
#define SETTING_WORD_FAULT(name) " " #name
#define SETTING_WORD_ABORT(name) " " #name
#define SETTING_WORD_DUMP(name) " " #name
#define SETTING_WORD_PLAIN(name)

// SETTING_ACCEPTED is what most rows accept: stored once in each program.
#define SETTING_ACCEPTED "no or yes"

// clang-format off
#define SETTINGS(ROW) \
    ROW("CRASHHOOK_ENABLE", "enable", WORD, enable, \
        "yes", "no, yes or tty", \
        "Whether crashes are reported; tty: only when stderr is a terminal.") \
    ROW("CRASHHOOK_URL", "url", URLS, url, \
        "", "http, sentry+http, otlp+http or minidump+http URLs", \
        "Where reports go; without it they stay in the spool.") \
    ROW("CRASHHOOK_TOKEN_FILE", "token-file", PATH, token_file, \
        "", "a path", \
        "File that holds the bearer token of the collector.") \
    ROW("CRASHHOOK_TOKEN", NULL, STRING, token, \
        "", "a token", \
        "Bearer token of the collector.") \
    ROW("CRASHHOOK_SPOOL", "spool", PATH, spool, \
        "", "a path", \
        "Folder where every report lands first.") \
    ROW("CRASHHOOK_SPOOL_MAX", "spool-max", CAPS, spool_max_reports, \
        "64,256M", "REPORTS,BYTES or REPORTS,BYTES,AGE such as 64,256M,30d", \
        "What the spool holds at most, and for how many days or hours it keeps " \
        "reports that were sent; the oldest sent reports go first.") \
    ROW("CRASHHOOK_AGENT", "agent", PATH, agent, \
        "", "a path", \
        "Path of crashhook-agent.") \
    ROW("CRASHHOOK_SIGNALS", "signals", SIGNALS, signals, \
        "SEGV,BUS,ILL,FPE,ABRT,TRAP,SYS", \
        "names, by commas:" SIGNALS(SETTING_SIGNAL_WORD), \
        "Which signals are crashes.") \
    ROW("CRASHHOOK_UNWIND", "unwind", WORD, unwind, \
        "auto", "auto, fast, precise, sframe, dwarf, fp or libunwind", \
        "How stacks are unwound.") \
    ROW("CRASHHOOK_LIMIT", "limit", FRAMES, limit, \
        "64", "a number of frames from 1, or none", \
        "Frames per backtrace.") \
    ROW("CRASHHOOK_TOP", "top", FRAMES, top, \
        "16", "a number of frames, or none", \
        "How many of the frames are kept from the outer end.") \
    ROW("CRASHHOOK_THREADS", "threads", WORD, threads, \
        "all", "all or crashed", \
        "Which threads a report holds.") \
    ROW("CRASHHOOK_IMAGES", "images", WORD, images, \
        "all", "all, none or mentioned", \
        "Which images a report lists; none: those with frames, and no list is printed.") \
    ROW("CRASHHOOK_SYMBOLIZE", "symbolize", WORD, symbolize, \
        "full", "full, fast or off", \
        "fast: function names; full: inlines and source lines too.") \
    ROW("CRASHHOOK_CACHE", "cache", WORD, cache, \
        "yes", "", \
        "Whether symbol caches are read and written.") \
    ROW("CRASHHOOK_HOLD", "hold", WORD, hold, \
        "auto", "auto, capture, report or upload", \
        "How long the crashed process is kept.") \
    ROW("CRASHHOOK_MODE", "mode", WORD, mode, \
        "spawn", "spawn or daemon", \
        "daemon: an agent is started at install and waits.") \
    ROW("CRASHHOOK_HANDLERS", "handlers", WORD, handlers, \
        "first", "first or last", \
        "Whether the program's own handlers of a fault run before it is reported, " \
        "and may recover from it, or after.") \
    ROW("CRASHHOOK_KILLS", "kills", WORD, kills, \
        "no", "no, yes or seize", \
        "Whether a program that is killed is reported too, by an agent that is " \
        "started with it. Seize: with its stack, by an agent that keeps debuggers " \
        "from attaching. If not set, crashhook run reports the program that it starts.") \
    ROW("CRASHHOOK_TIMEOUT", "timeout", DURATION, timeout_ms, \
        "30s", "a duration such as 30s, 500ms or 2m", \
        "The process is never held longer.") \
    ROW("CRASHHOOK_PRINT", "print", WORD, print, \
        "tty", "no, yes or tty", \
        "Whether the report is printed on stderr; tty: when it is a terminal.") \
    ROW("CRASHHOOK_PRESET", "preset", WORD, preset, \
        "auto", "auto, friendly, medium or full", \
        "How much of the report is printed.") \
    ROW("CRASHHOOK_OUTPUT", "output", OUTPUT, output, \
        "", "stdout, stderr, a file or a folder", \
        "Where the report is printed; if set, it is printed unless CRASHHOOK_PRINT " \
        "is no. Without it: stderr.") \
    ROW("CRASHHOOK_FORMAT", "format", WORD, format, \
        "text", "text or json", \
        "The form in which the report is printed.") \
    ROW("CRASHHOOK_REGISTERS", "registers", WORD, registers, \
        "auto", "auto, none, crashed or all", \
        "Which threads' registers are printed; auto: the crashed thread's, if the " \
        "preset is full.") \
    ROW("CRASHHOOK_DEMANGLE", "demangle", WORD, demangle, \
        "yes", "", \
        "Whether printed stacks have names as in the source; no: as linkers have them.") \
    ROW("CRASHHOOK_COLOR", "color", WORD, color, \
        "tty", "no, yes or tty", \
        "Whether the report is printed in colour; tty: on a terminal.") \
    ROW("CRASHHOOK_INTERACTIVE", "interactive", WORD, interactive, \
        "no", "", \
        "Hold a program in the foreground of a terminal, and let its user choose what " \
        "is shown, until CRASHHOOK_TIMEOUT at most.") \
    ROW("CRASHHOOK_WARNINGS", "warnings", WORD, warnings, \
        "yes", "", \
        "Print a line about each variable that is not understood.") \
    ROW("CRASHHOOK_ARGUMENTS", "arguments", WORD, arguments, \
        "yes", "", \
        "Put the variables of functions in the report.") \
    ROW("CRASHHOOK_SANITIZE", "sanitize", WORD, sanitize, \
        "yes", "", \
        "Mask home directories and secrets before anything is written.") \
    ROW("CRASHHOOK_MEMORY", "memory", WORD, memory, \
        "no", "", \
        "Put memory around what the registers point to in the report.") \
    ROW("CRASHHOOK_STACKS", "stacks", WORD, stacks, \
        "no", "", \
        "Put the memory of the stacks in the report, for minidumps and debuggers.") \
    ROW("CRASHHOOK_DESCRIPTORS", "descriptors", WORD, descriptors, \
        "auto", "auto, yes or no", \
        "Whether a report lists the open descriptors; auto: after an abort or a bus " \
        "error, and of live processes. Yes holds a crashed program 0.06 ms longer.") \
    ROW("CRASHHOOK_PII", "pii", WORD, pii, \
        "yes", "", \
        "Whether payment cards, IBANs and e-mail addresses stay in the report; no: " \
        "they are masked.") \
    ROW("CRASHHOOK_THROWS", "throws", WORD, throws, \
        "no", "", \
        "Keep the stacks that C++ exceptions are thrown with.") \
    ROW("CRASHHOOK_STARTS", "starts", WORD, starts, \
        "no", "", \
        "Count starts and clean ends, from which the collector computes crash-free rates.") \
    ROW("CRASHHOOK_TAGS", "tags", PAIRS, tags, \
        "", "k=v,k=v", \
        "Tags put in each report.") \
    ROW("CRASHHOOK_USER", "user", STRING, user, \
        "", "an id", \
        "Whom the program works for, as the tag user: collectors count users.") \
    ROW("CRASHHOOK_RELEASE", "release", STRING, release, \
        "", "a text", \
        "The program's release.") \
    ROW("CRASHHOOK_ENVIRONMENT", "environment", STRING, environment, \
        "", "a text", \
        "Where it runs: production, staging.") \
    ROW("CRASHHOOK_OWN", "own", STRING, own, \
        "", "patterns such as acme:: !boost:: /opt/acme/*", \
        "What counts as in-app code in addition to the built-in rules, and " \
        "after ! what does not.") \
    ROW("CRASHHOOK_RATE", "rate", RATE, rate_count, \
        "10/1m", "COUNT/DURATION such as 10/1m", \
        "More crashes than this of one program are counted, not uploaded.") \
    ROW("CRASHHOOK_FLIGHT", "flight", SIZE, flight_bytes, \
        "no", "no, or a size such as 64K", \
        "Size of the flight recorder per thread.") \
    ROW("CRASHHOOK_HEAP", "heap", WORD, heap, \
        "no", "no, sample or every", \
        "Guard some allocations, or every one while memory lasts, so that the report " \
        "of a misused block shows who allocated and freed it.") \
    ROW("CRASHHOOK_HEAP_RATE", "heap-rate", FRAMES, heap_rate, \
        "5000", "a number of allocations from 1", \
        "One in so many allocations of a thread is guarded.") \
    ROW("CRASHHOOK_HEAP_SLOTS", "heap-slots", FRAMES, heap_slots, \
        "64", "a number of allocations from 1", \
        "How many allocations are guarded at a time; as many as the kernel allows, if " \
        "every one is to be.") \
    ROW("CRASHHOOK_LOG", "log", LOG, log, \
        "", "a file, or stderr", \
        "Where the agent's own messages go.")
// clang-format on

// SETTING_AT_member is the position of a row in the table.
#define SETTING_POSITION(name, option, kind, member, fallback, accepted, help)         \
    SETTING_AT_##member,
enum setting_position { SETTINGS(SETTING_POSITION) SETTING_POSITIONS };
