# SPDX-License-Identifier: Apache-2.0
#
# how_to_add ROOT [BUILD]: what CONTRIBUTING.md says under "How to add" is true: the files
# that it names exist, and a signal, a crash kind and a variable that are added to a copy of the tree, in
# the files that it gives, are understood, have names, and compile. With BUILD, a tree that
# Ninja has built, columns of the groups page are added too: a collector of the copy, with
# AddressSanitizer, stores a report and gives them, and upgrades a store that lacks them. So
# are the recipes of how_to_add_command.py.

import concurrent.futures
import gzip
import json
import os
import re
import shlex
import shutil
import sqlite3
import subprocess
import sys
import tempfile

import how_to_add_command
import source_tree

PATH = re.compile(r"`([\w.-]+(?:/[\w.-]+)+)`")

# What is added, in which files, and where its neighbour stands in each.
EDITS = {
    "A signal": {
        "shared/signals.h": [(r'(    ROW\(XFSZ, .*\n)',
                            r'\1    ROW(STKFLT, DUMP, "stack fault") \\\n')],
    },
    "A crash kind": {
        "shared/crash_kinds.h": [(r'(    ROW\(FATAL_EXIT, )',
                                  r'    ROW(STRAY, "stray", "stray byte", signal, MESSAGE) \\\n\1')],
        "report/summary/crash_kind.c": [(r"(    case SIGTRAP:\n)",
                                         r"    case SIGSTKFLT:\n"
                                         r"        return CRASH_KIND_STRAY;\n\1")],
        "docs/report.schema.json": [(r'("fatal-exit")', r'"stray", \1')],
        "docs/reference/crash-kinds.md": [(r"(\| `file-truncated` )", r"| `stray` | SIGSTKFLT |\n\1")],
    },
    "A variable": {
        "base/settings/settings.h": [(r"(    const char \*release;\n)",
                             r"\1    const char *ward;\n")],
        "shared/settings_table.h": [(r'(    ROW\("CRASHHOOK_RELEASE")',
                                   r'    ROW("CRASHHOOK_WARD", "ward", STRING, ward, \\\n'
                                   r'        "", "a text", "The ward.") \\\n\1')],
        "include/crashhook/crashhook.h": [(r"(    const char \*log;\n)", r"\1    const char *ward;\n")],
        "handler/prepare/variables.c": [(r"(    SETTING_AT_log,\n)", r"\1    SETTING_AT_ward,\n")],
    },
}



def column(lists, kind, default, name, member, rule, value):
    """The changes for a column: the list it is in, its type, how it is kept and shown."""
    row = f"{kind} NOT NULL DEFAULT {default}"
    upgrade = f"\nALTER TABLE groups ADD COLUMN {name} {row};\n"
    schema = "collector/store/schema/"
    return {
        "collector/store/store_group.h": [
            (rf"(#define {lists}\(ROW\) *\\\n)",
             rf"\1    ROW({member}, {name}) \\\n")],
        schema + "sqlite.sql": [(r"(CREATE TABLE groups\(\n.*\n)", rf"\1    {name} {row},\n")],
        schema + "postgresql.sql": [(r"(CREATE TABLE groups\(\n.*\n)",
                                     rf"\1    {name} {row},\n")],
        schema + "sqlite_from_18.sql": [(r"\Z", upgrade)],
        schema + "postgresql_from_18.sql": [(r"\Z", upgrade)],
        "collector/store/sql/filtered.sql": [(r"(g\.version, g\.project)", rf"\1, g.{name}")],
        "collector/store/sql/ingest.sql": [
            (r"(note, assignee, project)", rf"\1, {name}"),
            (r"(    CAST\(\?10 AS text\))", rf"\1, CAST(?NEXT AS {kind})"),
            (r"(    first_seen = CASE WHEN excluded.first_seen < )", rule + r"\1")],
        "collector/store/store_add.c": [
            (r"(sql_text\(gain->decided\),[^}]*?)(\n    };)", rf"\1 {value},\2")],
        "collector/api_read.c": [
            (r'(    set_text\(json, "project", group->project\);\n)',
             rf'\1    set_{"text" if kind == "text" else "number"}(json, "{name}", group->{member});\n')],
        "collector/pages/page_group_row.c": [
            (r'(    html_write\(out, "</div>"\);\n}\n\nvoid page_group_row_write)',
             r'    html_write(out, "<span>{}</span>", {});\n\1'.format(
                 "%s" if kind == "text" else "%lld",
                 f"group->{member}" if kind == "text" else f"(long long)group->{member}"))],
    }


COLUMNS = {
    "A text column of the groups page": column(
        "STORE_GROUP_TEXTS", "text", "''", "environment", "environment",
        "    environment = CASE WHEN excluded.last_seen >= groups.last_seen\n"
        "        THEN excluded.environment ELSE groups.environment END,\n",
        "sql_text(entry->environment)"),
    "A number column of the groups page": column(
        "STORE_GROUP_NUMBERS", "bigint", "0", "last_received", "last_received_ms",
        "    last_received = CASE WHEN excluded.last_received > groups.last_received\n"
        "        THEN excluded.last_received ELSE groups.last_received END,\n",
        "sql_number(entry->received_ms)"),
}
COLUMNS["A number column of the groups page"]["collector/store/sql/groups.sql"] = [
    (r"(SET count = groups.count \+ s.count,\n)",
     r"\1    last_received = CASE WHEN s.last_received > groups.last_received\n"
     r"        THEN s.last_received ELSE groups.last_received END,\n")]

PROGRAM = """
#include <signal.h>
#include <string.h>
#include "base/settings/settings.h"
#include "report/summary/crash_kind.h"
#include "report/summary/signal_name.h"
static const char *get(void *context, const char *name)
{
    (void)context;
    if (strcmp(name, "CRASHHOOK_WARD") == 0)
        return "east";
    return strcmp(name, "CRASHHOOK_SIGNALS") == 0 ? "SEGV,STKFLT" : NULL;
}
int main(void)
{
    struct settings settings;
    const struct crash_facts facts = { .signal = SIGSTKFLT };
    settings_read(&settings, get, NULL, NULL);
    return (settings.signals >> SIGSTKFLT & 1) != 0 &&
           strcmp(signal_name(SIGSTKFLT), "SIGSTKFLT") == 0 &&
           strcmp(crash_kind_word(crash_kind(&facts)), "stray") == 0 &&
           strcmp(settings.ward, "east") == 0 ? 0 : 1;
}
"""


def section(root):
    text = source_tree.read(root, "CONTRIBUTING.md")
    return text.split("## How to add\n", 1)[1].split("\n## ", 1)[0]


def kind_problems(root):
    """Words of crash kinds that stand in the table, the schema or the page alone."""
    rows = re.findall(r'ROW\(\w+, +"([a-z-]+)"', source_tree.read(root, "shared/crash_kinds.h"))
    schema = json.loads(source_tree.read(root, "docs/report.schema.json"))
    listed = schema["$defs"]["crash"]["properties"]["kind"]["enum"]
    page = source_tree.read(root, "docs/reference/crash-kinds.md")
    for word in sorted(set(rows) ^ set(listed)):
        yield f"docs/report.schema.json:1: it and shared/crash_kinds.h differ in {word}"
    for word in rows:
        if f"`{word}`" not in page:
            yield f"docs/reference/crash-kinds.md:1: does not say when a crash is of kind {word}"
    # Words without a hyphen are names of other things, too.
    literal = re.compile('"(' + "|".join(word for word in rows if "-" in word) + ')"')
    for path in source_tree.files(root, (".c", ".h")):
        if path.split(os.sep)[0] in ("tests", "fuzz", "bench", "examples") or path.endswith("crash_kinds.h"):
            continue
        for found in literal.findall(re.sub("//.*", "", source_tree.read(root, path))):
            yield f"{path}:1: {found} is a string: compare kinds by enum crash_kind"


def kind_needs_its_parts(copy):
    """A row that names no sentence must not compile."""
    path = os.path.join(copy, "shared/crash_kinds.h")
    with open(path, encoding="utf-8") as file:
        text = file.read()
    with open(path, "w", encoding="utf-8") as file:
        file.write(text.replace('"stray byte", signal', '"stray byte", of_nothing'))
    built = subprocess.run(["cc", "-std=gnu17", "-D_GNU_SOURCE", f"-I{copy}", "-fsyntax-only",
                            "report/summary/crash_summary.c"], cwd=copy, check=False,
                           stderr=subprocess.DEVNULL)
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)
    if built.returncode == 0:
        yield "shared/crash_kinds.h:1: a row without a sentence compiles"


def next_value(text):
    """Numbers the value that was added to STORE_GAIN_GROUP."""
    gain = text.split("-- name: STORE_GAIN_GROUP", 1)
    if "?NEXT" not in text:
        return text
    last = max(int(number) for number in re.findall(r"\?(\d+)", gain[1].split("-- name")[0]))
    return text.replace("?NEXT", f"?{last + 1}")


def add_to(copy, what, edits, said):
    """Changes the files that the recipe names; problems, or none."""
    recipe = said[said.index(f"**{what}**") :].split("\n- **", 1)[0]
    for path, changes in edits.items():
        if f"`{path}`" not in recipe:
            yield f"CONTRIBUTING.md:1: {what.lower()} is not added without {path}"
        text = source_tree.read(copy, path)
        for old, new in changes:
            text, count = re.subn(old, new, text)
            if count == 0:
                yield f"{path}:1: there is no '{old}', which the new one stands beside"
        with open(os.path.join(copy, path), "w", encoding="utf-8") as file:
            file.write(next_value(text))


def build_collector(root, build, copy):
    """Compiles the copy's collector without optimization, which is fast; its path."""
    with open(os.path.join(build, "compile_commands.json"), encoding="utf-8") as file:
        commands = json.load(file)
    generated = os.path.join(copy, "store_statements.c")
    subprocess.run(["cmake", f"-DFOLDER={copy}/collector/store", f"-DOUTPUT={generated}", "-P",
                    f"{copy}/collector/store/statements.cmake"], check=True)
    own, made = os.path.join(root, "collector") + "/", os.path.join(build, "collector") + "/"
    jobs, objects = [], {}
    for command in commands:
        path = command["file"]
        if not path.startswith((own, made)) or path in objects:
            continue
        source = copy + path[len(root):] if path.startswith(own) else path
        source = generated if source.endswith("/store_statements.c") else source
        objects[path] = os.path.join(copy, f"{len(objects)}.o")
        words = shlex.split(command["command"])
        words = words[:words.index("-o")] + ["-O0", "-g0", "-U_FORTIFY_SOURCE", "-Wextra",
                                            "-Werror", "-fsanitize=address"]
        jobs.append([words[0], f"-I{copy}", *words[1:], "-o", objects[path], "-c", source])
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        list(pool.map(lambda job: subprocess.run(job, cwd=build, check=True), jobs))
    link = subprocess.run(["ninja", "-t", "commands", "bin/crashhook-collector"], cwd=build,
                          check=True, text=True, stdout=subprocess.PIPE).stdout.splitlines()[-1]
    words = [word for word in shlex.split(link.removeprefix(": && ").removesuffix(" && :"))
             if not word.endswith(("/main.c.o", "/libch_collector.a"))]
    program = os.path.join(copy, "crashhook-collector")
    words[words.index("-o") + 1] = program
    subprocess.run([words[0], "-fsanitize=address", *objects.values(), *words[1:]], cwd=build,
                   check=True)
    return program


def read_columns(root, program):
    """Problems with what a collector gives of the columns."""
    sys.path.insert(0, os.path.join(root, "tests", "collector"))
    from running import Collector
    from write_old_store import crash
    # Without workers: a child that a thread forks may hang in ASan's allocator.
    workers = ["--workers", "0"]
    with Collector(program, extra=workers) as collector:
        report = dict(crash(1, ["shop::pay", "main"]), environment="staging")
        answer = collector.post(gzip.compress(json.dumps(report).encode()),
                                {"Content-Encoding": "gzip"})[1]
        listed = collector.json("GET", "/api/v1/groups")[1]["groups"][0]
        group = collector.json("GET", "/api/v1/groups/" + answer["group"])[1]
        page = collector.request("GET", "/groups")[2].decode()
        for found in (listed, group):
            if found.get("environment") != "staging" or found.get("last_received", 0) <= 0:
                return [f"CONTRIBUTING.md:1: the columns of the recipes read as {found}"]
        if "<span>staging</span>" not in page:
            return ["CONTRIBUTING.md:1: the text column is not on the page"]
    with Collector(program, extra=workers) as collector:
        collector.stop()
        path = collector.path("store.db")
        os.unlink(path)
        database = sqlite3.connect(path)
        with open(os.path.join(root, "tests/cases/stores/layout-18/sqlite.sql"),
                  encoding="utf-8") as dump:
            database.executescript(dump.read())
        database.close()
        collector.start()
        old = collector.json("GET", "/api/v1/groups")[1]["groups"][0]
        if (old.get("environment"), old.get("last_received")) != ("", 0):
            return [f"CONTRIBUTING.md:1: in an upgraded store the columns read as {old}"]
    return []


def try_trap(copy, root):
    """A text of a group that is in no list, and so is not copied, does not compile."""
    path = os.path.join(copy, "collector/store/store_group.h")
    text = source_tree.read(copy, "collector/store/store_group.h")
    with open(path, "w", encoding="utf-8") as file:
        file.write(text.replace("    bool resolved_in_it;",
                                "    const char *nickname;\n    bool resolved_in_it;"))
    said = subprocess.run(["cc", "-std=gnu17", "-D_GNU_SOURCE", f"-I{copy}", f"-I{root}",
                           "-fsyntax-only", f"{copy}/collector/requests/group_copy.c"],
                          check=False, text=True, stderr=subprocess.PIPE).stderr
    if "each text of a group is in STORE_GROUP_TEXTS" in said:
        return []
    return ["collector/store/store_group.h:1: a text that is not copied compiles"]


def add_columns(root, build, copy, said):
    shutil.copytree(os.path.join(root, "collector"), os.path.join(copy, "collector"))
    problems = []
    for what, edits in COLUMNS.items():
        problems += add_to(copy, what, edits, said)
    problems = problems or read_columns(root, build_collector(root, build, copy))
    return problems or try_trap(copy, root)


def add_to_command(root, build, said):
    """Carries out the recipes whose effect is seen in the command."""
    edited = how_to_add_command.EDITS
    with tempfile.TemporaryDirectory() as copy:
        for path in {path for edits in edited.values() for path in edits}:
            os.makedirs(os.path.join(copy, os.path.dirname(path)), exist_ok=True)
            shutil.copy(os.path.join(root, path), os.path.join(copy, path))
        problems = []
        for what, edits in edited.items():
            problems += add_to(copy, what, edits, said)
        return problems or list(how_to_add_command.problems(root, build, copy))


def compile_and_run(copy):
    with open(os.path.join(copy, "main.c"), "w", encoding="utf-8") as file:
        file.write(PROGRAM)
    flags = ["-std=gnu17", "-D_GNU_SOURCE", "-Wall", "-Wextra", "-Werror", f"-I{copy}",
             f"-I{copy}/include"]
    program = os.path.join(copy, "program")
    sources = ["main.c", "base/settings/settings.c", "shared/signals.c", "report/summary/signal_name.c",
               "report/summary/crash_kind.c"]
    built = subprocess.run(["cc", *flags, "-o", program, *sources], cwd=copy, check=False)
    crash = subprocess.run(["cc", *flags, "-ffreestanding", "-c", "handler/crash/crash_say.c",
                            "-o", os.path.join(copy, "crash_say.o")], cwd=copy, check=False)
    options = subprocess.run(["cc", *flags, "-c", "handler/prepare/variables.c",
                              "-o", os.path.join(copy, "variables.o")], cwd=copy, check=False)
    if built.returncode != 0 or crash.returncode != 0 or options.returncode != 0:
        return ["CONTRIBUTING.md:1: a tree with one more of each does not compile"]
    if subprocess.run([program], check=False).returncode != 0:
        return ["CONTRIBUTING.md:1: what was added is not understood"]
    return []


def main(root, build=None):
    said = section(root)
    named = PATH.findall(said)
    problems = [f"CONTRIBUTING.md:1: there is no {path}" for path in named
                if not os.path.exists(os.path.join(root, path))]
    with tempfile.TemporaryDirectory() as copy:
        for folder in ("base", "shared", "report", "handler", "include", "docs"):
            shutil.copytree(os.path.join(root, folder), os.path.join(copy, folder))
        for what in EDITS:
            problems += add_to(copy, what, EDITS[what], said)
        problems += [*kind_problems(root), *kind_problems(copy)]
        problems = problems or compile_and_run(copy)
        problems = problems or list(kind_needs_its_parts(copy))
        if build is not None and not problems:
            root, build = os.path.abspath(root), os.path.abspath(build)
            problems = add_columns(root, build, copy, said)
            problems += add_to_command(root, build, said)
    source_tree.report("how_to_add", problems, len(named))


if __name__ == "__main__":
    main(*sys.argv[1:])
