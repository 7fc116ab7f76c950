# SPDX-License-Identifier: Apache-2.0
#
# The documents' commands, as a reader would type them: every ```sh block of a page is run,
# in order, in one shell. "# prints: TEXT" after a command says what it prints somewhere;
# "# waits: COMMAND" waits until that succeeds. And the site that is made of the documents.

import os
import re
import shutil
import signal
import subprocess
import tempfile
import unittest

import harness
from harness import BUILD, SOURCE

DOCS = os.path.join(SOURCE, "docs")
PAGES = ("tutorial.md", "from-breakpad.md", "from-crashpad.md", "from-sentry-native.md",
         "from-swift.md", "from-systemd-coredump.md", "privacy.md")
SITE = os.path.join(SOURCE, "packaging", "build-site")


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
        port = 20000 + os.getpid() % 20000
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
        others = [name for name in os.listdir(DOCS) if name.endswith(".md") and name not in PAGES]
        self.assertEqual([name for name in others if blocks(name)], [])

    def site(self):
        if shutil.which("pandoc") is None:
            self.skipTest("pandoc is not installed")
        out = os.path.join(self.folder, "site")
        done = subprocess.run([SITE, out], check=False, text=True, stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT)
        self.assertEqual(done.returncode, 0, done.stdout)
        return out, done.stdout

    def test_every_document_is_a_page_of_the_site_with_links_that_lead_somewhere(self):
        out, said = self.site()
        documents = [name for name in os.listdir(DOCS) if name.endswith(".md")]
        for name in documents:
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


def page_test(page):
    return lambda self: self.check_page(page)


for _page in PAGES:
    setattr(Documents, "test_the_commands_of_" + re.sub(r"\W", "_", _page[:-3]) + "_do_what_it_says",
            page_test(_page))


if __name__ == "__main__":
    harness.main()
