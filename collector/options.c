// SPDX-License-Identifier: Apache-2.0
#include "collector/options.h"

#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/system/file.h"

static const struct row {
    const char *name;
    const char *value; // what --help calls its value
    const char *fallback;
    size_t offset;
    const char *help;
} rows[] = {
    { "--listen", "ADDRESS:PORT", "127.0.0.1:8765", offsetof(struct options, listen),
      "where to listen; port 0 takes any free one" },
    { "--store", "sqlite:PATH|postgresql://...", NULL, offsetof(struct options, store),
      "where reports are kept; default: collector.db in the state folder" },
    { "--symbols", "DIR", NULL, offsetof(struct options, symbols),
      "where debug files are kept; default: the store's path and `.symbols`" },
    { "--body-store", "store|DIR|s3://BUCKET/PREFIX?endpoint=URL", NULL,
      offsetof(struct options, body_store),
      "where bodies of reports are packed to; default: store, they stay in it" },
    { "--body-segments", "SIZE/TIME", NULL, offsetof(struct options, body_segments),
      "bytes of a segment, or how long they wait for one at most; default: 8M/10m" },
    { "--symbol-store", "store|DIR|s3://BUCKET/PREFIX?endpoint=URL", NULL,
      offsetof(struct options, symbol_store),
      "where debug files are kept compressed; --symbols is a cache of it then" },
    { "--symbol-cache", "SIZE", NULL, offsetof(struct options, symbol_cache),
      "size of that cache: 20G; default: 10G" },
    { "--symbol-keep", "TIME", NULL, offsetof(struct options, symbol_keep),
      "remove debug files this long after they were used: 180d; default: never" },
    { "--debuginfod-urls", "URLS", NULL, offsetof(struct options, debuginfod_urls),
      "debuginfod servers to query, once, for debug files that reports lack" },
    { "--token-file", "FILE", NULL, offsetof(struct options, token_file),
      "tokens, one a line; each request needs one. Required beyond loopback" },
    { "--trusted-user-header", "NAME", NULL, offsetof(struct options, user_header),
      "a header in which the proxy names the user that it has signed in" },
    { "--trusted-groups-header", "NAME", NULL, offsetof(struct options, groups_header),
      "a header in which it lists the groups of that user, with commas" },
    { "--trusted-proxy", "ADDRESS", NULL, offsetof(struct options, trusted_proxy),
      "the only address whose headers name users, and where requests came from" },
    { "--keep", "TIME", NULL, offsetof(struct options, keep),
      "remove reports this long after they came: 90d, 12w; default: never" },
    { "--keep-per-group", "COUNT", NULL, offsetof(struct options, keep_per_group),
      "leave the latest COUNT reports of a group; default: all" },
    { "--keep-size", "SIZE", NULL, offsetof(struct options, keep_size),
      "remove the oldest reports beyond this size: 500M, 50G; default: never" },
    { "--backup", "FILE", NULL, offsetof(struct options, backup),
      "where POST /api/v1/backup puts a copy of a SQLite store" },
    { "--rate", "COUNT/TIME", NULL, offsetof(struct options, rate),
      "most reports a token sends: 600/1m; default: no limit" },
    { "--workers", "COUNT", NULL, offsetof(struct options, workers),
      "processes at a time that name reports; 0 to 16, default: 2" },
    { "--search-without", "FIELDS", NULL, offsetof(struct options, search_without),
      "fields that new reports are not found by: register,address; default: none" },
    { "--users", "WHAT", NULL, offsetof(struct options, users),
      "how users are stored: hashed, with a salt of the project, or plain; default:"
      " hashed" },
    { "--own", "PATTERNS", NULL, offsetof(struct options, own),
      "what counts as a program's own code in addition to the built-in rules, as in"
      " CRASHHOOK_OWN: 'acme:: !boost:: /opt/acme/*'" },
    { "--webhook-file", "FILE", NULL, offsetof(struct options, webhook_file),
      "web hooks to notify of crashes: a URL a line, then settings" },
    { "--mail-file", "FILE", NULL, offsetof(struct options, mail_file),
      "a mail server, and addresses to notify of crashes" },
    { "--public-url", "URL", NULL, offsetof(struct options, public_url),
      "where people reach these pages, for links in what is sent to them" },
    { "--source-url", "TEMPLATE", NULL, offsetof(struct options, source_url),
      "where a line of the program's sources is: {file} {line} {release} {build}" },
    { "--source-root", "DIR", NULL, offsetof(struct options, source_root),
      "the folder that the sources were built in; {file} is below it" },
    { "--issue-url", "TEMPLATE", NULL, offsetof(struct options, issue_url),
      "the page that creates an issue: {title} {text} {url} {group}" },
    { "--ticket-file", "FILE", NULL, offsetof(struct options, ticket_file),
      "secrets of issue trackers whose events decide about groups: secret=SECRET a "
      "line,"
      " then settings" },
    { "--time-zone", "NAME", NULL, offsetof(struct options, time_zone),
      "the zone of times on pages, until a person chooses another one: Europe/Berlin;"
      " default: UTC" },
    { "--read-only", "yes", NULL, offsetof(struct options, read_only),
      "only show what is stored: on a standby, or beside the collector that writes" },
    { "--log", "WHAT", NULL, offsetof(struct options, log),
      "lines on stderr: requests, in JSON; queries, the SQL of the store; or both as"
      " requests,queries" },
};

enum { ROW_COUNT = sizeof(rows) / sizeof(rows[0]) };

static void print_collector_help(void)
{
    printf("usage: crashhook-collector [OPTION...]\n\n"
           "Receives crash reports, groups them and shows them on web pages.\n\n");
    for (size_t i = 0; i < ROW_COUNT; i++) {
        printf("  %s %s\n        %s", rows[i].name, rows[i].value, rows[i].help);
        if (rows[i].fallback != NULL)
            printf("; default: %s", rows[i].fallback);
        printf("\n");
    }
    printf("  --help, --version\n");
}

// find_collector_option finds the option that argument begins with: `--name` or
// `--name=value`.
static const struct row *find_collector_option(const char *argument)
{
    size_t length = strcspn(argument, "=");
    for (size_t i = 0; i < ROW_COUNT; i++) {
        if (strlen(rows[i].name) == length &&
            strncmp(rows[i].name, argument, length) == 0)
            return &rows[i];
    }
    return NULL;
}

enum options_result options_parse(int argc, char **argv, struct options *out)
{
    *out = (struct options){ .listen = rows[0].fallback };
    for (int i = 1; i < argc; i++) {
        const char *argument = argv[i];
        if (strcmp(argument, "--help") == 0) {
            print_collector_help();
            return OPTIONS_DONE;
        }
        if (strcmp(argument, "--version") == 0) {
            printf("crashhook-collector %s\n", CRASHHOOK_VERSION);
            return OPTIONS_DONE;
        }
        const struct row *row = find_collector_option(argument);
        const char *equals = strchr(argument, '=');
        const char *value = equals != NULL ? equals + 1 : argv[i + 1];
        if (row == NULL || value == NULL) {
            fprintf(stderr, "crashhook-collector: %s '%s'; see --help\n",
                    row == NULL ? "unknown option" : "a value is missing after",
                    argument);
            return OPTIONS_WRONG;
        }
        *(const char **)((char *)out + row->offset) = value;
        i += equals == NULL;
    }
    return OPTIONS_RUN;
}

enum { STATE_SIZE = STATE_PATH_SIZE - 64 };

// state_folder writes the path of the folder for lasting state, and makes missing
// folders.
static bool state_folder(char out[STATE_SIZE])
{
    const char *state = getenv("XDG_STATE_HOME");
    const char *home = getenv("HOME");
    int length = 0;
    if (geteuid() == 0)
        length = snprintf(out, STATE_SIZE, "/var/lib/crashhook-collector");
    else if (state != NULL && state[0] == '/')
        length = snprintf(out, STATE_SIZE, "%s/crashhook-collector", state);
    else if (home != NULL && home[0] == '/')
        length = snprintf(out, STATE_SIZE, "%s/.local/state/crashhook-collector", home);
    if (length <= 0 || length >= STATE_SIZE)
        return false;
    (void)file_make_parents(out, 0755);
    mkdir(out, 0700);
    return true;
}

bool state_default_store(char out[STATE_PATH_SIZE])
{
    char folder[STATE_SIZE];
    if (!state_folder(folder))
        return false;
    snprintf(out, STATE_PATH_SIZE, "sqlite:%s/collector.db", folder);
    return true;
}

bool state_default_symbols(const char *store, char out[STATE_PATH_SIZE])
{
    char folder[STATE_SIZE];
    if (strncmp(store, "sqlite:", 7) == 0) {
        snprintf(out, STATE_PATH_SIZE, "%.*s.symbols", STATE_PATH_SIZE - 16, store + 7);
        return true;
    }
    if (!state_folder(folder))
        return false;
    snprintf(out, STATE_PATH_SIZE, "%s/symbols", folder);
    return true;
}
