# SPDX-License-Identifier: Apache-2.0
#
# The documents' commands, as a reader would type them: every ```sh block of a page is run,
# in order, in one shell. "# prints: TEXT" after a command says what it prints somewhere;
# "# waits: COMMAND" waits until that succeeds. And the site that is made of the documents.

import fnmatch
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import unittest

import harness
from harness import BUILD, SOURCE
from ports import held_port

sys.path.append(os.path.join(SOURCE, "tests", "collector"))
import accessibility  # noqa: E402
from browser import Browser  # noqa: E402

DOCS = os.path.join(SOURCE, "docs")
# Whose commands another test runs: tests/collector/test_operations.py.
PAGES_OF_OTHERS = ("how-to/monitor.md", "how-to/several-collectors.md", "how-to/backup.md",
                   "how-to/point-in-time.md")
# Pages that only link on.
OLD_ADDRESSES = {"collector.md", "handler.md", "operations.md", "reports.md", "runtimes.md", "survival.md"}
SITE = os.path.join(SOURCE, "packaging", "build-site")
# What people ask first, the page that answers, and words of the answer.
QUESTIONS = {
    "How do I keep passwords out of reports?": ("how-to/masking", "show --as-sent"),
    "Why has my static Go program no report?": ("run", "of Go, with and without cgo"),
    "What leaves my machine?": ("privacy", "not in a report"),
    "How do I stop alerts for one bug?": ("how-to/triage", "stop alerts for it"),
    "How do symbols get there from CI?": ("how-to/symbols-in-ci", "crashhook symbols upload"),
    "What in a container without a volume?": ("how-to/containers", "The spool is lost with the container"),
    "Which kernel settings matter?": ("faq", "kernel.yama.ptrace_scope"),
    "Do I still get core files?": ("faq", "the program dies by the same signal"),
    "How do I upgrade two collectors?": ("how-to/upgrade", "install and restart them one after another"),
    "How do I uninstall?": ("faq", "apt purge crashhook"),
}
# A name of each part of the reference, and where it is.
NAMES = {
    "CRASHHOOK_URL": "manual/crashhook.7.html#crashhook-url",
    "crashhook_set_tag": "manual/crashhook.3.html#crashhook-set-tag",
    "--preset NAME": "manual/crashhook-show.1.html#preset-name",
    "crash.kind": "reference/report-keys.html#crash-kind",
    "GET /api/v1/groups": "reference/requests.html#get-api-v1-groups",
    "crashhook_ready": "reference/metrics.html#crashhook-ready",
    "deadlock": "reference/crash-kinds.html#deadlock",
    "window=1m": "reference/collector-files.html#window-1m",
}

# What a reader puts in a place where there is no file; the folder has files named FILE, REPORT and the like.
VALUES = {r"https?://(?:collector|HOST|crashes\.example\.org)(?::8765)?|\bURL\b": "$URL", r"\bGROUP\b": "$GROUP",
          r"\b(?:PID|4711)\b": "$PID", r"\b(?:MS|N)\b": "10", r"\b(?:ADDRESS|PC)\b": "0x1139", r"\bNAME\b": "nobody",
          r"(\w)\.\.\.": r"\1", r"\[|\]|(?<=\w)\|\w+": "", r"^(crashhook-collector)(?! --listen)": r"\1 --listen 127.0.0.1:0",
          "127.0.0.1:8765": "127.0.0.1:0", "FILE COPY": "program COPY",
          r"^(crashhook-collector(?:(?! --store).)*)$": r"\1 --store sqlite:other.db"}
# What a command that is named with an option alone works on, or the value of that option.
REST = {"run --via trace": "-- true", "run --via": "trace -- true", "run": "-- true", "symbolize": "REPORT",
        "export": "REPORT", "list --spool": "DIR", "ci --artifact": "crashes -- true", "symbols upload": "--url $URL program"}
# Statuses other than 0: the crash of what is run, or an answer, which may depend on the machine.
ENDS = {r".*run .*(?:program|PROGRAM|service|server|kill)": (139,), r".*(?:node status|doctor)": (0, 1), r".*gate": (3,),
        r".*heap REPORT|.*export --format fdr": (1,)}
# What is not run here, and why. Its words are those that a shell understands.
NOT_RUN = {
    r"make |cmake |ctest |tests/|bench/|build/|packaging/|CRASHHOOK_\w+=\S+ tests|xargs ":
        "builds, tests or measures the tree, as the Makefile's targets do; files, presets and options are checked",
    r"crashhook node (?:install|remove|--watch)|crashhook-core-pattern |(?:apt|systemctl|install|mount) |crashhook run -- /usr/sbin":
        "changes the machine: tests/integration/test_node_agent.py, test_core_pattern.py, make check-packages",
    r"(?:cargo|go|npm|npx|node|pip|python3|crashhook run -- node) ":
        "needs a language: tests/integration/test_packed_bindings.py, make check-adoption",
    r"docker |openssl dgst|(?:sha256sum|tar) ": "needs an image or a tarball: make check-image, make check-tarball",
    r"(?:coredumpctl|dump_syms|minidump_stackwalk|sentry-cli|jcmd|lldb|llvm-xray|objcopy --only|valgrind) ?": "others' programs",
    r"crashhook heap --format": "its output is for programs of others: tests/integration/test_heap.py",
    r"crashhook upload .*--watch": "does not end: packaging/systemd, tests/upload",
    r"crashhook-collector .*s3:": "needs servers: tests/collector/test_object_store.py",
    r"crashhook (?:cbf|images|finish|sources 1|words 1|symbolize --swift)": "a name of commands, a format, an internal command",
    r"(?:gdb|kill|sh|man) ": "needs a core or a service of root: tests/integration/test_node_agent.py",
    r"crashhook(?: releases commits| types dump --base| core - --store|-agent -)": "needs a repository, a module, a core, a record",
}
RUN = r"(?:[A-Z_]+=\S+ )*(?:bin/)?crashhook(?:-collector)? |(?:cc|curl|objcopy|openssl|pkg-config|zstd) "
COMMAND = re.compile(rf"(?:{'|'.join(NOT_RUN)}|{RUN})\S")
# The folder where they run.
PREPARE = """set -e; mkdir -p src/shop DIR build; ln -s $BUILD/bin bin; cp prices.c program.c; echo >ci.token
for name in program build/bin PROGRAM server service BEFORE AFTER app-dbgsym.deb; do cp prices $name; done
gdb -q -batch -ex run -ex 'generate-core-file core' ./program >gdb.log 2>&1; cp core CORE; zstd -q core
crashhook sframe make program -o SECTION; objcopy --add-section .sframe=SECTION program FILE
crashhook run -- ./program || true
crashhook upload; crashhook show --json | tee REPORT >ID; crashhook groups --json >groups.json"""


def documents():
    """The paths of all pages below docs/."""
    return sorted(os.path.relpath(os.path.join(folder, name), DOCS)
                  for folder, _, names in os.walk(DOCS) for name in names if name.endswith(".md"))


def blocks(page):
    with open(os.path.join(DOCS, page), encoding="utf-8") as file:
        return re.findall(r"^```sh\n(.*?)^```$", file.read(), re.MULTILINE | re.DOTALL)


PAGES = [page for page in documents() if blocks(page) and page not in PAGES_OF_OTHERS]


def script_of(page, port):
    """The page's commands, each part of the output marked by what it has to print."""
    lines = []
    for block in blocks(page):
        for line in block.splitlines():
            prints = re.fullmatch(r"# prints: (.*)", line)
            waits = re.fullmatch(r"# waits: (.*)", line)
            if prints:
                lines.append("printf '\\n%%%%%%prints %s\\n' " + "'" + prints[1].replace("'", "'\\''") + "'")
            elif waits:
                lines.append(f"until {waits[1]} >/dev/null; do sleep 0.1; done")
            else:
                lines.append(line)
    return "\n".join(lines).replace("8765", str(port))


def mentioned():
    """Each command that no ```sh block has, with the page where it is."""
    found, run = {}, {line for page in documents() for block in blocks(page) for line in block.splitlines()}
    for page, text in Words.pages.items():
        text = re.sub(r"^```sh\n.*?^```$", "", text, flags=re.MULTILINE | re.DOTALL)
        for line in Words.code_of(re.sub(r" \\\n +", " ", text.replace("\\|", "|"))):
            found.setdefault(re.sub(r"  +#.*|^# ", "", line.strip()), page)
    for name in os.listdir(os.path.join(DOCS, "man")):
        with open(os.path.join(DOCS, "man", name), encoding="utf-8") as file:
            examples = file.read().partition(".SH EXAMPLES")[2].partition(".SH")[0]
        for line in re.findall(r"^\\fB(.*)\\fR$", examples, re.MULTILINE):
            found.setdefault(line.replace("\\-", "-"), name)
    return {line: page for line, page in found.items()
            if COMMAND.match(line) and line not in run and line.removeprefix("crashhook ") not in Words.helps}



class Documents(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.mkdtemp(prefix="crashhook-documents.", dir="/var/tmp")
        self.addCleanup(shutil.rmtree, self.folder, ignore_errors=True)

    def environment(self):
        kept = {name: value for name, value in os.environ.items()
                if not name.startswith("CRASHHOOK_") and name != "LD_PRELOAD"}
        return {**kept, "PATH": os.path.join(BUILD, "bin") + ":" + os.environ["PATH"],
                "HOME": self.folder, "CRASHHOOK_SPOOL": os.path.join(self.folder, "spool"),
                "PKG_CONFIG_PATH": os.path.join(BUILD, "lib", "pkgconfig")}

    def give_programs(self):
        """The programs that pages take for granted: the service, and the tutorial's."""
        shutil.copy(os.path.join(SOURCE, "examples", "adopting", "service.c"), self.folder)
        with open(os.path.join(DOCS, "tutorial.md"), encoding="utf-8") as file:
            prices = re.search(r"cat >prices.c <<'C'\n(.*?)^C$", file.read(),
                               re.MULTILINE | re.DOTALL).group(1)
        with open(os.path.join(self.folder, "prices.c"), "w", encoding="utf-8") as file:
            file.write(prices)
        for name, source in (("service", "service.c"), ("prices", "prices.c")):
            subprocess.run(["cc", "-g", "-O1", "-o", name, source], cwd=self.folder, check=True)

    def run_page(self, page):
        port = held_port()
        self.give_programs()
        output = os.path.join(self.folder, "output")
        with open(output, "w", encoding="utf-8") as file:
            shell = subprocess.Popen(["bash", "-c", script_of(page, port)], cwd=self.folder,
                                     env=self.environment(), stdin=subprocess.DEVNULL,
                                     stdout=file, stderr=file, start_new_session=True)
        try:
            shell.wait(120)
        finally:
            try:
                os.killpg(shell.pid, signal.SIGKILL)  # the collector that it started
            except ProcessLookupError:
                pass
            shell.wait()
        with open(output, encoding="utf-8") as file:
            return file.read()

    def check_page(self, page):
        if " " in BUILD and "pkg-config" in "".join(blocks(page)):
            self.skipTest("pkg-config escapes a space for a shell that reads its words twice")
        if page == "how-to/nginx.md" and not os.path.exists("/usr/sbin/nginx"):
            self.skipTest("nginx is not installed")
        output = self.run_page(page)
        before = 0
        wanted = list(re.finditer(r"^%%%prints (.*)$", output, re.MULTILINE))
        self.assertTrue(wanted, output)
        for match in wanted:
            self.assertIn(match[1], output[before:match.start()], output)
            after = output[match.end():].lstrip("\n")
            if not after.startswith("%%%prints"):
                before = match.end()

    def started(self, command, environment):
        process = subprocess.Popen(command, env=environment, cwd=self.folder, stderr=subprocess.PIPE, text=True)
        self.addCleanup(process.communicate)
        self.addCleanup(process.kill)
        return process

    def shell(self, environment, text, *options):
        """How a command ends, and its output."""
        if " " in BUILD:
            self.skipTest("LD_PRELOAD and pkg-config take no blank")
        done = subprocess.run(["timeout", "120", "bash", *options, "-c", text], cwd=self.folder, env=environment,
                              stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False)
        return done.returncode if done.returncode >= 0 else 128 - done.returncode, done.stdout.decode(errors="replace")

    def prepared(self):
        """The environment of a folder with what commands name: programs, a core, a report, a process, a collector."""
        self.give_programs()
        url = f"http://127.0.0.1:{held_port()}"
        path = f".:{BUILD}/bin:{BUILD}/libexec/crashhook:{SOURCE}/packaging:{os.environ['PATH']}"
        environment = {**self.environment(), "PATH": path, "BUILD": BUILD, "URL": url, "CRASHHOOK_URL": url}
        self.started([f"{BUILD}/bin/crashhook-collector", "--listen", url[7:], "--store", "sqlite:store.db"],
                     environment).stderr.readline()
        sleeper = self.started(["sleep", "1000"], {**environment, "CRASHHOOK_HEAP": "sample", "LD_PRELOAD":
                               f"{BUILD}/lib/libcrashhook.so:{BUILD}/lib/libcrashhook-heap.so"})
        self.assertEqual(self.shell(environment, PREPARE)[0], 0)
        with open(os.path.join(self.folder, "groups.json"), encoding="utf-8") as file:
            return {**environment, "PID": str(sleeper.pid), "GROUP": json.load(file)["groups"][0]["id"]}

    def run_one(self, line, environment):
        command = line
        for pattern, value in VALUES.items():
            command = re.sub(pattern, value, command)
        if command.startswith("crashhook-collector"):
            collector = self.started(["bash", "-c", "exec " + command], environment)
            said = collector.stderr.readline()
            collector.kill()
            collector.wait()
            return 0 if "http://127.0.0.1:" in said else 1, said
        status, output = self.shell(environment, command)
        rest = next((rest for name, rest in REST.items() if line.startswith(f"crashhook {name}")), None)
        return self.shell(environment, f"{command} {rest}") if status == 2 and rest else (status, output)

    def test_commands_in_passing_and_in_manual_pages_do_something(self):
        Words.setUpClass()
        environment, count = self.prepared(), 0
        for line, page in mentioned().items():
            wanted = next((wanted for pattern, wanted in ENDS.items() if re.match(pattern, line)), (0,))
            if re.match("|".join(NOT_RUN), line):
                (status, output), wanted = self.shell(environment, re.sub(r"[\[\]]", "", line), "-n"), (0,)
            else:
                status, output = self.run_one(line, environment)
                count += 1
            self.assertIn(status, wanted, f"{page}: {line}\n{output}")
        self.assertGreater(count, 60)

    def test_outputs_on_pages_are_what_programs_print(self):
        examples = os.path.join(BUILD, "examples")
        for page, program in (("leaks", "leaking"), ("logging", "log"), ("profiler", "profiler")):
            preload = f"{examples}/libbacktrace_leaks.so" if page == "leaks" else ""
            output = self.shell({**self.environment(), "LD_PRELOAD": preload}, f"{examples}/backtrace_{program}")[1]
            with open(os.path.join(DOCS, f"backtrace-{page}.md"), encoding="utf-8") as file:
                shown = re.search(r"prints:\n\n((?:    .*\n|\n)+)", file.read())[1]
            printed, shown = (re.sub(r"/\S*/examples/|(?<=stack )\d+|(?<=add_up )\d+", "", text)
                              for text in (output, shown))
            self.assertEqual([line for line in shown.split("\n") if line.strip() not in printed], [], output)

    def test_settings_of_units_are_those_that_systemd_knows(self):
        if shutil.which("systemd-analyze") is None:
            self.skipTest("systemd-analyze is not installed")
        unit = os.path.join(self.folder, "x.service")
        for page in documents():
            with open(os.path.join(DOCS, page), encoding="utf-8") as file:
                for lines in re.findall(r"^ *\[Service\]\n((?: *\w+=.*\n)+)", file.read(), re.MULTILINE):
                    with open(unit, "w", encoding="utf-8") as written:
                        written.write("[Service]\nExecStart=/bin/true\n" + lines.replace("       ", ""))
                    done = subprocess.run(["systemd-analyze", "verify", unit], check=False, text=True,
                                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
                    self.assertNotRegex(done.stdout, "x.service:", page)

    def test_the_pages_with_commands_do_not_become_fewer(self):
        self.assertGreaterEqual(len(PAGES), 39)

    def test_a_page_about_one_task_is_shorter_than_60_lines(self):
        for page in documents():
            if page.startswith("how-to/"):
                with open(os.path.join(DOCS, page), encoding="utf-8") as file:
                    self.assertLess(len(file.readlines()), 60, page)

    site_made = None

    def site(self):
        """The site of the documents, made once, and what its builder printed."""
        if shutil.which("pandoc") is None:
            self.skipTest("pandoc is not installed")
        if Documents.site_made is None:
            out = tempfile.mkdtemp(prefix="crashhook-site.", dir="/var/tmp")
            self.addClassCleanup(shutil.rmtree, out, ignore_errors=True)
            done = subprocess.run([SITE, out, DOCS, BUILD], check=False, text=True,
                                  stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
            self.assertEqual(done.returncode, 0, done.stdout)
            Documents.site_made = out, done.stdout
        return Documents.site_made

    @staticmethod
    def page_of(out, name):
        with open(os.path.join(out, name + ".html"), encoding="utf-8") as file:
            return file.read().partition("<main")[2]

    def clicks(self, out):
        """Which links in the text of pages lead from the first page to each, in their order."""
        found, fresh = {"index": []}, ["index"]
        while fresh:
            name = fresh.pop(0)
            for link in re.findall(r'href="([^":#]+\.html)', self.page_of(out, name)):
                page = os.path.normpath(os.path.join(os.path.dirname(name), link[:-5]))
                if page not in found:
                    found[page] = found[name] + [link]
                    fresh.append(page)
        return found

    def test_what_people_ask_first_is_at_most_three_clicks_from_the_first_page(self):
        out, _ = self.site()
        clicks = self.clicks(out)
        for question, (page, _) in QUESTIONS.items():
            self.assertIn(page, clicks, question)
            self.assertLessEqual(len(clicks[page]), 3, question)
        if shutil.which("chromium") is None:
            self.skipTest("chromium is not installed")
        with Browser() as browser:
            browser.look(1280, 900, False)
            for question, (page, words) in QUESTIONS.items():
                browser.go(f"file://{out}/index.html")
                for link in clicks[page]:
                    browser.click(f"main a[href^='{link}']")
                text = browser.evaluate("document.querySelector('main').innerText")
                self.assertIn(words, re.sub(r"\s+", " ", text), question)

    def test_pages_of_the_site_fit_a_phone_and_can_be_read_by_all(self):
        out, _ = self.site()
        if shutil.which("chromium") is None:
            self.skipTest("chromium is not installed")
        pages = sorted(os.path.relpath(os.path.join(folder, name), out)
                       for folder, _, names in os.walk(out) for name in names if name.endswith(".html"))
        views = [(name, 360, 740, True) for name in pages]
        views += [(f"{name}.html", 1280, 900, False)
                  for name in ("index", "how-to/collector", "reference/crash-kinds")]
        with Browser() as browser:
            for name, width, height, dark in views:
                browser.look(width, height, dark)
                browser.go(f"file://{out}/{name}")
                wide = browser.evaluate("document.documentElement.scrollWidth")
                self.assertLessEqual(wide, width, name)
                self.assertEqual(accessibility.problems(browser), [], name)

    def test_the_search_and_the_index_lead_to_each_name_of_the_reference(self):
        out, _ = self.site()
        with open(os.path.join(out, "index.js"), encoding="utf-8") as file:
            entries = json.loads(file.read().partition("= ")[2].rstrip(";\n"))
        found = {entry["title"].rpartition(" · ")[0]: entry["page"] for entry in entries}
        index = self.page_of(out, "reference/names")
        for name, page in NAMES.items():
            if not os.path.exists(os.path.join(out, page.partition("#")[0])):
                continue  # the collector or the manual pages were not built
            anchor = page.partition("#")[2]
            self.assertTrue(f'id="{anchor}"' in self.page_of(out, page.partition(".html")[0]), page)
            self.assertEqual(found.get(name), page)
            self.assertTrue(f'href="../{page}"' in index, page)

    def names_of_the_tables(self):
        """What the program's own tables list: variables, crash kinds, functions and options."""
        for table, name in (("shared/settings_table.h", r'ROW\("(CRASHHOOK_\w+)"'),
                            ("shared/crash_kinds.h", r'ROW\(\w+, +"([a-z-]+)"')):
            with open(os.path.join(SOURCE, table), encoding="utf-8") as file:
                yield table, set(re.findall(name, file.read()))
        headers = os.path.join(SOURCE, "include", "crashhook")
        for header in sorted(os.listdir(headers)):
            if header.endswith(".h"):
                with open(os.path.join(headers, header), encoding="utf-8") as file:
                    yield header, set(re.findall(r"^CRASHHOOK_API.*?\b(crashhook_\w+)\(", file.read(),
                                                 re.MULTILINE))
        for words in (line.split() for line in Words.commands()):
            shown = Words.help_of("crashhook", *words)
            yield f"crashhook {words[0]}", set(re.findall(r"^ +(?:-\w, )?(--[a-z][a-z-]*)", shown, re.MULTILINE))

    def test_each_name_of_the_tables_has_an_anchor_in_the_reference(self):
        out, _ = self.site()
        if not os.path.isdir(os.path.join(out, "manual")):
            self.skipTest("the manual pages were not built")
        with open(os.path.join(out, "index.js"), encoding="utf-8") as file:
            entries = json.loads(file.read().partition("= ")[2].rstrip(";\n"))
        anchors = {}
        for entry in entries:
            if "#" in entry["page"]:
                name = re.match(r"(?:-\w ?, )?([^ ,=[(]*)", entry["title"])[1]
                anchors.setdefault(name, set()).add(entry["page"].partition("#")[0])
        count = 0
        for table, names in self.names_of_the_tables():
            page = "manual/" + table.replace(" ", "-") + ".1.html"
            for name in names:
                self.assertTrue(name in anchors, f"{table}: {name}")
                self.assertTrue(name[0] != "-" or page in anchors[name], f"{page}: {name}")
                count += 1
        self.assertGreater(count, 400)

    def test_every_document_is_a_page_of_the_site_with_links_that_lead_somewhere(self):
        out, said = self.site()
        for name in documents():
            self.assertTrue(os.path.exists(os.path.join(out, name[:-3] + ".html")), name)
        self.assertRegex(said, r"\d+ pages, \d+ links, 0 broken")
        page = ""
        for name in ("tutorial.html", "style.css"):
            with open(os.path.join(out, name), encoding="utf-8") as file:
                page += file.read()
        for part in ('lang="en"', 'href="limits.html"', 'type="search"', "prefers-color-scheme",
                     "viewport"):
            self.assertIn(part, page)
        self.assertNotIn("//cdn", page)

    def test_a_link_that_leads_nowhere_fails_the_site(self):
        if shutil.which("pandoc") is None:
            self.skipTest("pandoc is not installed")
        docs = os.path.join(self.folder, "docs")
        os.mkdir(docs)
        with open(os.path.join(docs, "a.md"), "w", encoding="utf-8") as file:
            file.write("# A\n\n[b](b.md), [c](#c), [a](#a)\n")
        done = subprocess.run([SITE, os.path.join(self.folder, "out"), docs], check=False,
                              text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        self.assertEqual(done.returncode, 1)
        self.assertIn("a.html: b.html", done.stdout)
        self.assertIn("a.html: #c", done.stdout)
        self.assertIn("1 pages, 3 links, 2 broken", done.stdout)


class Words(unittest.TestCase):
    """What documents name in passing, in a span or a block that is not run: it exists."""
    COMMAND = re.compile(r"(?:^|[\s/|;&(\"$])(crashhook|crashhook-collector)"
                         r"((?: [^\s|;&()#`]+)+)")
    HIDDEN = {"finish", "record", "core-pattern"}

    @classmethod
    def setUpClass(cls):
        cls.pages = {}
        for place in ("docs", "docs/formats", "docs/how-to", "docs/reference", "", "packaging",
                      "bindings/go", "bindings/node", "bindings/python", "bindings/rust"):
            for name in os.listdir(os.path.join(SOURCE, place)):
                if name.endswith(".md"):
                    path = os.path.join(place, name)
                    with open(os.path.join(SOURCE, path), encoding="utf-8") as file:
                        cls.pages[path] = file.read()
        cls.shown = cls.help_of("crashhook")
        cls.helps = {name: cls.help_of("crashhook", *name.split()) for name in cls.commands()}
        cls.collector = cls.help_of("crashhook-collector")

    @staticmethod
    def help_of(program, *words):
        return subprocess.run([os.path.join(BUILD, "bin", program), *words, "--help"], check=True,
                              text=True, stdout=subprocess.PIPE).stdout

    @staticmethod
    def code_of(text):
        """The lines of its blocks and its spans."""
        rest = re.sub(r"^```.*?^```$", "", text, flags=re.MULTILINE | re.DOTALL)
        for block in re.findall(r"^```\w*\n(.*?)^```$", text, re.MULTILINE | re.DOTALL):
            yield from block.splitlines()
        yield from re.findall(r"^    (.*)$", rest, re.MULTILINE)
        for span in re.findall(r"`([^`]+)`", rest):
            yield " ".join(span.split())

    @classmethod
    def commands(cls):
        """The commands that crashhook --help lists, of one or two words."""
        return re.findall(r"^  ([a-z-]+(?: [a-z]+)?)  +\S", cls.help_of("crashhook"), re.MULTILINE)

    def help_for(self, program, words):
        """What --help of that command prints; None: it is no command with options."""
        if program == "crashhook-collector":
            return self.collector
        if words[0].startswith("-"):
            return self.shown
        for name in (" ".join(words[:2]), words[0]):
            if name in self.helps:
                return self.helps[name]
        groups = {name.split()[0] for name in self.helps}
        if words[0] in groups | self.HIDDEN or not re.fullmatch("[a-z-]+", words[0]):
            return None
        return ""

    def test_commands_and_their_options_are_those_that_there_are(self):
        count = 0
        for path, text in self.pages.items():
            for line in self.code_of(text):
                for program, rest in self.COMMAND.findall(line):
                    words = rest.split(" -- ")[0].split()
                    shown = self.help_for(program, words) if words else None
                    if shown is None or re.match(r"\w+ \d", rest.strip()):
                        continue  # such as the first line of a format, "crashhook words 1"
                    count += 1
                    self.assertNotEqual(shown, "", f"{path}: {line}")
                    for word in words:
                        option = re.match(r"\[?(--[a-z-]+)", word)
                        self.assertTrue(not option or option[1] in shown, f"{path}: {line}")
        self.assertGreater(count, 100)

    def test_the_page_about_privacy_names_each_variable_that_reports_have(self):
        names = []
        for path, function in (("cli/session/surroundings.c", "bool surroundings_is_shown"),
                               ("agent/raw/raw_report.c", "void write_telemetry")):
            with open(os.path.join(SOURCE, path), encoding="utf-8") as file:
                body = file.read().partition(function)[2].partition("\n}\n")[0]
            names += re.findall(r'"([A-Z_]+)"', body)
        self.assertGreater(len(names), 9)
        for name in names:
            self.assertRegex(self.pages["docs/privacy.md"], rf"\b{name}(?![A-Z])")

    def test_the_page_of_all_documents_links_each_that_is_not_an_old_address(self):
        links = set(re.findall(r"\]\(([^)#]+)", self.pages["docs/README.md"]))
        missing = [page for page in documents() if page not in OLD_ADDRESSES | {"README.md"} | links]
        self.assertEqual(missing, [])

    def test_targets_presets_and_manual_pages_are_those_that_there_are(self):
        with open(os.path.join(SOURCE, "Makefile"), encoding="utf-8") as file:
            targets = set(" ".join(re.findall(r"^([a-z][a-z0-9 -]*):", file.read(),
                                              re.MULTILINE)).split())
        with open(os.path.join(SOURCE, "CMakePresets.json"), encoding="utf-8") as file:
            presets = {preset["name"] for preset in json.load(file)["configurePresets"]}
        manuals = {name for _, _, names in os.walk(os.path.join(BUILD, "share", "man")) for name in names}
        for path, text in self.pages.items():
            for line in self.code_of(text):
                for name in re.findall(r"(?:^|&& |sudo )make ([a-z][a-z0-9-]*)", line):
                    self.assertIn(name, targets, f"{path}: {line}")
                for name in re.findall(r"(?:cmake|ctest|--build) --preset (\w+)", line):
                    self.assertIn(name, presets, path)
                for section, name in re.findall(r"^man (?:(\d) )?([a-z-]+)$", line):
                    self.assertTrue(not manuals or f"{name}.{section or 1}" in manuals, f"{path}: {line}")

    def test_requests_are_those_that_the_collector_takes(self):
        with open(os.path.join(SOURCE, "collector", "routes.c"), encoding="utf-8") as file:
            routes = re.findall(r'\{ "([A-Z]+)", "(/[^"]*)"', file.read())
        for path, text in self.pages.items():
            for method, place in re.findall(r"`(GET|HEAD|POST|PUT|DELETE) (/[^`?]*)[?`]", text):
                taken = [route for does, route in routes if does in (method, "GET" if method == "HEAD" else "")]
                self.assertTrue(any(fnmatch.fnmatch(place, route) for route in taken), f"{path}: {method} {place}")

    def test_files_of_the_tree_are_those_that_there_are(self):
        folders = "|".join(sorted(name for name in os.listdir(SOURCE)
                                  if os.path.isdir(os.path.join(SOURCE, name))
                                  and name[0] != "." and name != "build"))
        for path, text in self.pages.items():
            for name in re.findall(rf"[`\s]((?:{folders})/[\w./-]*\w)[` ]", text):
                places = (SOURCE, DOCS, os.path.join(SOURCE, os.path.dirname(path)))
                self.assertTrue("FOLDER" in name or any(
                    os.path.exists(os.path.join(place, name)) for place in places),
                    f"{path}: {name}")


def page_test(page):
    return lambda self: self.check_page(page)


for _page in PAGES:
    setattr(Documents, "test_the_commands_of_" + re.sub(r"\W", "_", _page[:-3]) + "_do_what_it_says",
            page_test(_page))


if __name__ == "__main__":
    harness.main()
