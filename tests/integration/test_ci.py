# SPDX-License-Identifier: Apache-2.0
#
# A build's tests below `crashhook ci`: what build servers get, and that the command's own
# result is kept.

import json
import os
import re
import signal
import subprocess
import time
import unittest
import xml.etree.ElementTree as xml

import harness
from harness import Scene, crash_line, example

MOST_SECONDS = 60


class Case(unittest.TestCase):
    def ci(self, script, name="t.sh", **variables):
        """Runs a script of the scene's folder below crashhook ci."""
        scene = Scene()
        self.addCleanup(scene.__exit__)
        self.scene = scene
        with open(os.path.join(scene.folder, name), "w", encoding="utf-8") as file:
            file.write("ulimit -c 0\n" + script)
        return scene.command("ci", "--", "sh", name, timeout=MOST_SECONDS, **variables)

    def made(self, name):
        with open(os.path.join(self.scene.folder, "crashhook-ci", name), encoding="utf-8") as file:
            return file.read()

    def forms(self):
        return (xml.fromstring(self.made("junit.xml")),
                json.loads(self.made("crashes.sarif"))["runs"][0]["results"],
                json.loads(self.made("gl-code-quality-report.json")))


class Ci(Case):
    def test_each_bug_is_an_entry_of_every_form_with_its_line(self):
        null, uncaught = example("null_write"), example("uncaught")
        done = self.ci(f"sh -c '{null}; {uncaught}'\n{null}\nexit 3\n")
        self.assertEqual(done.returncode, 3)
        self.assertIn("2 crashes below 'sh'", done.stderr)
        self.assertIn("(2 times)", done.stderr)
        junit, sarif, gitlab = self.forms()
        source = os.path.join(harness.SOURCE, "examples", "shop_pricing.c")
        line = crash_line(source)
        suite = junit.find("testsuite")
        self.assertEqual((suite.get("tests"), suite.get("errors")), ("2", "2"))
        self.assertEqual(suite.find("testcase").get("classname"), "null_write")
        self.assertIn("write_line", suite.find("testcase/error").text)
        place = sarif[0]["locations"][0]["physicalLocation"]
        self.assertTrue(place["artifactLocation"]["uri"].endswith("examples/shop_pricing.c"))
        self.assertEqual(place["region"]["startLine"], line)
        self.assertEqual(sarif[0]["occurrenceCount"], 2)
        self.assertEqual(gitlab[0]["location"]["lines"]["begin"], line)
        self.assertEqual({finding["fingerprint"] for finding in gitlab},
                         {result["partialFingerprints"]["crashhook/v2"] for result in sarif})
        self.assertIn("write_line", self.made("summary.md"))

    def test_a_report_of_the_artefact_is_shown_anywhere(self):
        self.ci(example("null_write"))
        folder = os.path.join(self.scene.folder, "crashhook-ci", "reports")
        report = next(name for name in os.listdir(folder) if name.endswith(".json"))
        with Scene() as other:
            done = other.command("show", os.path.join(folder, report))
        self.assertEqual(done.returncode, 0)
        self.assertIn("write_line at shop_pricing.c", done.stdout)

    def test_a_build_without_a_crash_passes(self):
        done = self.ci("exit 0\n")
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        junit, sarif, gitlab = self.forms()
        self.assertEqual((junit.find("testsuite").get("errors"), sarif, gitlab), ("0", [], []))
        self.assertIsNone(junit.find("testsuite/testcase/error"))

    def test_the_commands_signal_is_kept(self):
        self.assertEqual(self.ci("kill -TERM $$").returncode, -signal.SIGTERM)

    def test_a_command_that_is_not_there_is_127_as_in_a_shell(self):
        with Scene() as scene:
            done = scene.command("ci", "--", "/no/such/command")
        self.assertEqual(done.returncode, 127)

    def test_an_output_folder_that_cannot_be_made_is_one_line(self):
        with Scene() as scene:
            done = scene.command("ci", "--output", "/proc/x", "--", "true")
        self.assertEqual(done.returncode, 1)
        self.assertRegex(done.stderr, r"\Acrashhook: cannot make '/proc/x/reports': .*\n\Z")

    def test_hostile_names_break_no_form(self):
        name = "a<b>&\"'\x01]]>%,:\n::error::x.sh"
        binary = "crash<&>\"%0A::warning::"
        done = self.ci(f"cp {example('divide')} ./'{binary}'\n./'{binary}'\nexit 0\n",
                       name=name, GITHUB_ACTIONS="true")
        self.assertEqual(done.returncode, 0)
        junit, sarif, gitlab = self.forms()
        self.assertEqual(junit.find("testsuite/testcase").get("classname"), binary)
        self.assertEqual((len(sarif), len(gitlab)), (1, 1))
        commands = [line for line in done.stdout.splitlines() if line.startswith("::")]
        self.assertEqual(len(commands), 1)
        self.assertRegex(commands[0], r"\A::error file=[^:]*,line=\d+,title=Crash::")

    def test_githubs_summary_gets_what_crashed(self):
        with Scene() as other:
            summary = os.path.join(other.folder, "summary")
            self.ci(example("null_write"), GITHUB_STEP_SUMMARY=summary)
            with open(summary, encoding="utf-8") as file:
                self.assertTrue(file.read().startswith("# 1 crash\n"))

    def test_a_bug_that_the_collector_had_before_is_known(self):
        with Scene() as store:
            collector = subprocess.Popen(
                [harness.COLLECTOR, "--listen", "127.0.0.1:0", "--store",
                 f"sqlite:{store.folder}/store.db"], stderr=subprocess.PIPE, text=True)
            try:
                url = re.search(r"http://127\.0\.0\.1:\d+", collector.stderr.readline()).group()
                store.preload = ""
                store.command("run", "--", example("null_write"))
                self.assertEqual(store.command("upload", "--url", url).returncode, 0)
                # The store has the time of the report, which must be in an earlier second.
                harness.wait_for(lambda: self.began_later(store))
                self.ci(f"{example('null_write')}\n{example('uncaught')}\n", CRASHHOOK_URL=url)
            finally:
                collector.kill()
                collector.communicate()
        states = {result["ruleId"]: result["baselineState"] for result in self.forms()[1]}
        self.assertEqual(states, {"null-dereference": "unchanged", "uncaught-exception": "new"})

    @staticmethod
    def began_later(scene):
        return max(os.stat(path).st_mtime for path in scene.report_paths()) + 1 < time.time()


if __name__ == "__main__":
    harness.main()
