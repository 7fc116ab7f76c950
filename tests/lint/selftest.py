# SPDX-License-Identifier: Apache-2.0
#
# selftest ROOT: every lint is seen failing. Each case is a tiny source tree that breaks
# one rule; the lint must fail and name the file and the reason. A clean tree passes.

import os
import re
import shutil
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.realpath(__file__))

SPDX = "// SPDX-License-Identifier: Apache-2.0\n"
HEADER = SPDX + "//\n// A thing.\n//\n// It has limits.\n#pragma once\n"


def function(name, body, parameters="void"):
    return f"static int {name}({parameters})\n{{\n{body}    return 0;\n}}\n"


def lines(count):
    return "    step();\n" * count


def nested(depth):
    opening = "".join("    " * (i + 1) + "if (a) {\n" for i in range(depth))
    return opening + "".join("    " * (depth - i) + "}\n" for i in range(depth))


CLEAN = {
    "base/a.h": HEADER,
    "base/a.c": SPDX + '#include "base/a.h"\n\n' + function("f", "    // not a strcpy()\n"),
    "report/value/b.c": SPDX + '#include <jansson.h>\n\n#include "base/a.h"\n',
    "handler/c.c": SPDX + '#include "base/settings/settings.h"\n',
}

ROWS = 'ROW("CRASHHOOK_URL", "url", URLS, url,\n ROW("{}", NULL, PATH, spool, "")\n'
# What stands beside the file of a case of that lint.
BESIDE = {
    "options": {
        "include/crashhook/crashhook.h": "// CRASHHOOK_ENABLE has none.\n"
                                         "struct crashhook_options {\n    size_t size;\n"
                                         "    const char *url;\n    const char *spool;\n};\n",
        "handler/prepare/variables.c": "    SETTING_AT_url,\n    SETTING_AT_spool,\n",
    },
}

# lint, file, its text, what the lint must say of it
CASES = [
    ("include_rules", "base/a.c", '#include "report/json.h"\n', "may not include"),
    ("include_rules", "report/a.c", '#include "agent/live/stop.h"\n', "may not include"),
    ("include_rules", "agent/a.c", '#include "upload/post.h"\n', "may not include"),
    ("include_rules", "handler/a.c", '#include "base/cursor.h"\n', "may not include"),
    ("include_rules", "agent/a.c", '#include "handler/crash/crash.h"\n', "may not include"),
    ("include_rules", "base/a.c", '#include "cursor.h"\n', "without|not written"),
    ("include_rules", "agent/a.c", "#include <curl/curl.h>\n", "not for agent/"),
    ("include_rules", "cli/a.c", "#include <elfutils/libdwfl.h>\n", "not for cli/"),
    ("include_rules", "formats/debug/a.c", "#include <jansson.h>\n", "not for formats/"),
    ("include_rules", "upload/a.c", "#include <sys/ptrace.h>\n", "not for upload/"),
    ("include_rules", "extras/a.c", "", "no place in the include order"),
    ("include_rules", "symbolizer/names/a.c", '#include "symbolizer/types/type_name.h"\n',
     "symbolizer/names/ may not include"),
    ("include_rules", "symbolizer/types/a.c", '#include "symbolizer/diagnosis/words.h"\n',
     "symbolizer/types/ may not include"),
    ("include_rules", "symbolizer/arguments/a.c", '#include "symbolizer/symbolization.h"\n',
     "symbolizer/arguments/ may not include"),
    ("include_rules", "base/a.c", '#include "base/circle.h"\n',
     "base/circle.c:1: in a circle of includes, with base/a"),
    ("shape", "base/a.c", function("f", lines(70)), "has 74 lines"),
    ("shape", "base/a.c", function("f", "", "int a, int b, int c, int d, int e, int g, "
                                   "int (*h)(int, int)"), "has 7 parameters"),
    ("shape", "base/a.c", function("f", nested(4)), "nests 4 deep"),
    ("shape", "base/a.c", "int x;\n" * 901, "901 lines"),
    ("shape", "base/a.h", "int x;\n" * 251, "251 lines"),
    ("shape", "handler/crash/crash.c", "int x;\n" * 201, "201 lines"),
    ("shape", "handler/crash/crash_record.c", function("f", lines(40)), "has 44 lines"),
    ("shape", "base/a.c", "#if A\n#endif\n" * 3, "preprocessor conditions"),
    ("source_rules", "base/a.c", "int x;\n", "does not begin with"),
    ("source_rules", "tests/run.sh", "#!/bin/sh\necho\n", "does not begin with"),
    ("source_rules", "base/a.c", SPDX + function("f", "    strcpy(a, b);\n"), "strcpy"),
    ("source_rules", "base/a.c", SPDX + function("f", "    int n = atoi(a);\n"), "atoi"),
    ("source_rules", "base/a.c", SPDX + function("f", "    goto out;\n"), "goto"),
    ("source_rules", "base/a.c", SPDX + "typedef struct a a;\n", "typedef of a tag"),
    ("source_rules", "base/a.c", SPDX + "// TODO: more\n", "TODO left behind"),
    ("source_rules", "tests/test_a.py", "# SPDX-License-Identifier: Apache-2.0\nunittest.main()\n",
     "no reason of a skipped test"),
    ("source_rules", "base/a.c", SPDX + "/* old */\n", "written with //"),
    ("source_rules", "base/a.h", SPDX + "#pragma once\n", "opens with"),
    ("source_rules", "base/a.h", HEADER.replace("#pragma once\n", ""), "no #pragma"),
    ("source_rules", "base/utils.c", SPDX, "says nothing"),
    ("source_rules", "collector/a.c",
     SPDX + function("f", '    html_write(out, "<b>%d"\n        " %.1f</b>", a, b);\n'),
     "html_write has no conversion %.1f"),
    ("fault_list", "tests/integration/faults.txt",
     "1 a fault\n    tests/no.py test_x\n", "there is no test_x"),
    ("fault_list", "tests/integration/faults.txt", "2 a fault\n", "where 1 is due"),
    ("fault_list", "tests/integration/faults.txt", "1 a fault\n", "names no test"),
    ("counts", "base/a.c", function("f", lines(4)) + function("g", lines(4)),
     "copied body: base/a.c:2 = base/a.c:10"),
    ("comments", "base/a.c", SPDX + "\n// It adds.\n" + function("f", ""),
     "does not begin with 'f'"),
    ("comments", "base/a.c", SPDX + "\n// f is in gone.c.\n" + function("f", ""),
     "there is no file 'gone.c'"),
    ("comments", "base/a.c", SPDX + "\n// f calls gone_away.\n" + function("f", ""),
     "there is no 'gone_away'"),
    ("comments", "base/a.c", SPDX + function("f", lines(600)),
     "a long file begins with how it works"),
    ("words", "base/a.c", "// f is whether it is so.\n", "makes readers stop"),
    ("words", "docs/glossary.md", "# Words\n", "has no table of words"),
    ("ways", "docs/architecture.md", "```\nbase/a.c → base/b.c\n```\n",
     "there is no base/a.c"),
    ("ways", "docs/architecture.md", "```\nbase/circle.c → docs/architecture.md\n```\n",
     "base/circle.c does not call docs/architecture.md"),
    ("ways", "docs/architecture.md", "```\nagent/ → agent/live/\n```\n",
     "the folders of agent/ are not those"),
    ("options", "shared/settings_table.h", ROWS.format("CRASHHOOK_HOLD"),
     "CRASHHOOK_HOLD has no member"),
    ("options", "shared/settings_table.h", ROWS.format("CRASHHOOK_ENABLE"),
     "'spool' is the member of no variable"),
    ("options", "shared/settings_table.h", ROWS.format("CRASHHOOK_ENABLE"),
     "not those of the struct"),
    ("format", "base/a.c", "int  x ;\n", "clang-format"),
    ("prose", "docs/a.md", "word " * 50 + ".\n", "a sentence of more than 40 words"),
    ("prose", "docs/a.md", "It used to be slower.\n", "'used to be'"),
    ("top_level", "run.log", "ended\n", "run.log: is no file of the top level"),
    ("top_level", "scratch/a", "\n", "scratch/: is not in CONTRIBUTING"),
    ("tidy", "base/a.c", "#include <string.h>\n#include <stdlib.h>\n"
     "int f(const char *a);\nint f(const char *a)\n{\n    char *b = malloc(1);\n"
     "    return b[0] + a[0];\n}\n", "clang-analyzer|cert-|bugprone-"),
    ("tidy", "base/a.c", "int main(int argc, char **argv)\n{\n    (void)argv;\n"
     "    return &argc;\n}\n", "clang-diagnostic-int-conversion"),
    ("tidy", "base/a.c", "int x; // NOLINT\n", "reason"),
]


def write_tree(root, files):
    for path, text in files.items():
        os.makedirs(os.path.join(root, os.path.dirname(path)), exist_ok=True)
        with open(os.path.join(root, path), "w", encoding="utf-8") as file:
            file.write(text)


def run(lint, root, files):
    """The lint's exit status and words on a tree of these files."""
    write_tree(root, files)
    arguments = [sys.executable, os.path.join(HERE, lint + ".py"), root]
    if lint == "tidy":
        entries = ", ".join(
            f'{{"directory": "{root}", "file": "{path}", "command": "cc -c {path}"}}'
            for path in files if path.endswith(".c"))
        write_tree(root, {"build/compile_commands.json": f"[{entries}]"})
        arguments += [os.path.join(root, "build"), "1"]
    done = subprocess.run(arguments, stdout=subprocess.PIPE, text=True, check=False)
    return done.returncode, done.stdout


def case_fails(style, lint, path, text, words):
    with tempfile.TemporaryDirectory() as root:
        for name in (".clang-format", ".clang-tidy"):
            shutil.copy(os.path.join(style, name), root)
        beside = {"base/circle.c": '#include "base/a.h"\n'} if "circle" in text else {}
        status, said = run(lint, root, {path: text, **beside, **BESIDE.get(lint, {})})
    if status == 1 and re.search(words, said):
        return True
    print(f"{lint} on {path}: expected a failure with '{words}', got {status}:\n{said}")
    return False


def commits_are_judged(style):
    """A commit without a reason fails if it changes the program, and only then."""
    lint = os.path.join(style, "tests", "lint", "commits.py")
    wanted = []
    with tempfile.TemporaryDirectory() as root:
        def commit(path, message):
            write_tree(root, {path: message})
            for words in (["add", "-A"], ["commit", "-q", "-m", message]):
                subprocess.run(["git", "-C", root, "-c", "user.name=a", "-c", "user.email=a@b",
                                *words], check=True)
            done = subprocess.run([sys.executable, lint, root, "HEAD^"], text=True,
                                  check=False, stdout=subprocess.PIPE)
            return done.returncode, done.stdout
        subprocess.run(["git", "-C", root, "init", "-q"], check=True)
        commit("base/a.c", "Begin")
        wanted = [commit("base/a.c", "Do more")[0] == 1,
                  commit("base/a.c", "Do more\n\nBecause it was too little.")[0] == 0,
                  commit("tests/a.c", "Test more")[0] == 0,
                  "has 73 characters" in commit("tests/a.c", "x" * 73)[1]]
    if not all(wanted):
        print(f"commits: {wanted}")
    return all(wanted)


def clean_passes(style, lint):
    with tempfile.TemporaryDirectory() as root:
        shutil.copy(os.path.join(style, ".clang-format"), root)
        status, said = run(lint, root, CLEAN)
    if status != 0:
        print(f"{lint} on a clean tree:\n{said}")
    return status == 0


def main(root):
    results = [case_fails(root, *case) for case in CASES]
    results.append(commits_are_judged(root))
    results += [clean_passes(root, lint)
                for lint in ("include_rules", "shape", "source_rules", "counts", "comments",
                             "format")]
    print(f"selftest: {results.count(True)} of {len(results)} as expected")
    sys.exit(0 if all(results) else 1)


if __name__ == "__main__":
    main(sys.argv[1])
