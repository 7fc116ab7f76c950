# SPDX-License-Identifier: Apache-2.0
#
# The documents' commands, as a reader would type them: every ```sh block of a page is run,
# in order, in one shell. "# prints: TEXT" after a command says what it prints somewhere;
# "# waits: COMMAND" waits until that succeeds. And the site that is made of the documents.

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
PAGES = ("tutorial.md", "first-fleet.md", "adopting.md", "how-to/access.md", "how-to/add-data.md",
         "how-to/alerts.md", "how-to/ci-gate.md", "how-to/collector.md", "how-to/confined.md",
         "how-to/containers.md", "how-to/cores.md", "how-to/count-starts.md", "how-to/debugger.md",
         "how-to/flight.md", "how-to/heap.md", "how-to/install.md", "how-to/languages.md",
         "how-to/link.md", "how-to/masking.md", "how-to/minidumps.md", "how-to/nginx.md",
         "how-to/object-store.md", "how-to/read-a-report.md", "how-to/retention.md",
         "how-to/sampling.md", "how-to/sentry.md", "how-to/symbols-in-ci.md", "how-to/triage.md",
         "how-to/types.md", "how-to/upgrade.md", "costs.md", "limits.md", "from-breakpad.md",
         "from-crashpad.md", "from-sentry-native.md", "from-swift.md", "from-systemd-coredump.md",
         "privacy.md", "troubleshooting.md")
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


def documents():
    """The paths of all pages below docs/."""
    return sorted(os.path.relpath(os.path.join(folder, name), DOCS)
                  for folder, _, names in os.walk(DOCS) for name in names if name.endswith(".md"))


def blocks(page):
    with open(os.path.join(DOCS, page), encoding="utf-8") as file:
        return re.findall(r"^```sh\n(.*?)^```$", file.read(), re.MULTILINE | re.DOTALL)


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

    def test_a_page_without_commands_that_are_run_is_none_of_these(self):
        for page in PAGES:
            self.assertTrue(blocks(page), page)
        others = [name for name in documents() if name not in PAGES + PAGES_OF_OTHERS]
        self.assertEqual([name for name in others if blocks(name)], [])

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

    def test_targets_of_the_makefile_are_those_that_there_are(self):
        with open(os.path.join(SOURCE, "Makefile"), encoding="utf-8") as file:
            targets = set(" ".join(re.findall(r"^([a-z][a-z0-9 -]*):", file.read(),
                                              re.MULTILINE)).split())
        for path, text in self.pages.items():
            for line in self.code_of(text):
                for name in re.findall(r"(?:^|&& |sudo )make ([a-z][a-z0-9-]*)", line):
                    self.assertIn(name, targets, f"{path}: {line}")

    def test_files_of_the_tree_are_those_that_there_are(self):
        folders = "|".join(sorted(name for name in os.listdir(SOURCE)
                                  if os.path.isdir(os.path.join(SOURCE, name))
                                  and name[0] != "." and name != "build"))
        for path, text in self.pages.items():
            for name in re.findall(rf"`((?:{folders})/[\w./-]+)`", text):
                places = (SOURCE, DOCS)
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
