// SPDX-License-Identifier: Apache-2.0
//
// `crashhook init`: the lines to add to the build or the service of a program, for what
// is found in a folder. Nothing is written.
#include <errno.h>
#include <glob.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/system/file.h"
#include "cli/session/command.h"

// A way is what to do where a file of that pattern is. BINDINGS in a line stands for
// the folder of the bindings.
struct way {
    const char *pattern;
    const char *lines;
};

static const struct way ways[] = {
    { "CMakeLists.txt",
      "find_package(crashhook REQUIRED)\n"
      "target_link_libraries(PROGRAM PRIVATE crashhook::crashhook)\n" },
    { "meson.build",
      "executable('PROGRAM', ..., dependencies: dependency('crashhook'))\n" },
    { "[Mm]akefile*", "CFLAGS += $(shell pkg-config --cflags crashhook)\n"
                      "LDLIBS += $(shell pkg-config --libs crashhook)\n" },
    { "configure.ac", "PKG_CHECK_MODULES([CRASHHOOK], [crashhook])\n"
                      "PROGRAM_LDADD = $(CRASHHOOK_LIBS)  # in Makefile.am\n" },
    { "MODULE.bazel", "bazel_dep(name = \"crashhook\")\n"
                      "deps = [\"@crashhook//:crashhook\"],  # of the cc_binary\n" },
    { "Cargo.toml", "cargo add --path BINDINGS/rust crashhook\n"
                    "crashhook::Options::new().release(env!(\"CARGO_PKG_VERSION\"))"
                    ".install()\n"
                    "    .unwrap_or_else(|why| eprintln!(\"no reports: {why}\"));\n"
                    "crashhook::report_fatal_panics();\n" },
    { "go.mod", "import \"crashhook.invalid/crashhook\"\n"
                "err := crashhook.Install(crashhook.Options{Release: \"1.0\"})\n"
                "go mod edit -replace crashhook.invalid/crashhook=BINDINGS/go\n"
                "go mod tidy\n" },
    { "package.json", "npm install BINDINGS/node\n"
                      "require('crashhook').reportExceptions({ release: '1.0' });\n" },
    { "pyproject.toml", "export PYTHONPATH=BINDINGS/python\n"
                        "import crashhook\n"
                        "crashhook.install(release=\"1.0\")\n"
                        "crashhook.report_exceptions()\n" },
    { "*.service", "[Service]\nEnvironment=CRASHHOOK_URL=http://collector:8765\n"
                   "ExecStart=/usr/bin/crashhook run -- PROGRAM\n" },
    { "Dockerfile", "ENTRYPOINT [\"crashhook\", \"run\", \"--hold\", \"auto\", \"--\", "
                    "\"PROGRAM\"]\n" },
    { "Containerfile",
      "ENTRYPOINT [\"crashhook\", \"run\", \"--hold\", \"auto\", \"--\", "
      "\"PROGRAM\"]\n" },
};

static void print_way(const char *file, const char *lines)
{
    static const char word[] = "BINDINGS";
    char found[PATH_MAX];
    const char *bindings =
        installed_bindings(found) ? found : "/usr/share/crashhook/bindings";
    printf("%s:\n", file);
    for (size_t size; *lines != 0; lines += size + 1) {
        size = strcspn(lines, "\n");
        const char *place = memmem(lines, size, word, strlen(word));
        size_t before = place != NULL ? (size_t)(place - lines) : size;
        printf("    %.*s", (int)before, lines);
        if (place != NULL)
            printf("%s%.*s", bindings, (int)(size - before - strlen(word)),
                   place + strlen(word));
        printf("\n");
    }
}

// print_init_lines prints the lines for the first file that matches. False: there is
// none.
static bool print_init_lines(const char *folder, const struct way *way)
{
    char pattern[PATH_MAX];
    glob_t found;
    int size = snprintf(pattern, sizeof(pattern), "%s/%s", folder, way->pattern);
    if (size < 0 || (size_t)size >= sizeof(pattern) ||
        glob(pattern, 0, NULL, &found) != 0)
        return false;
    print_way(file_name(found.gl_pathv[0]), way->lines);
    globfree(&found);
    return true;
}

static int run_init(const struct options *options)
{
    const char *folder = options->argument_count != 0 ? options->arguments[0] : ".";
    bool found = false;
    if (access(folder, R_OK | X_OK) != 0)
        return command_fail("cannot look in '%s': %s", folder, strerror(errno));
    for (size_t i = 0; i < sizeof(ways) / sizeof(ways[0]); i++)
        found |= print_init_lines(folder, &ways[i]);
    if (!found)
        print_way("no build or service is known here; any program, unchanged",
                  "crashhook run -- PROGRAM\n");
    printf("\nWhere reports go is CRASHHOOK_URL in the environment of the program; "
           "`crashhook doctor -- PROGRAM` says whether they will be made.\n");
    return COMMAND_DONE;
}

const struct command init_command = {
    .name = "init",
    .summary = "Print the lines to add to the build or service in a folder",
    .arguments = "[FOLDER]",
    .arguments_max = 1,
    .run = run_init,
};
