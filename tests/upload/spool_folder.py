# SPDX-License-Identifier: Apache-2.0
#
# A spool of the test's own with reports in it, and uploads from it by the command.

import json
import os
import shutil
import subprocess
import sys
import tempfile
import time

BUILD = os.path.realpath(os.environ["CRASHHOOK_BUILD"])
SOURCE = os.path.dirname(os.path.dirname(os.path.dirname(os.path.realpath(__file__))))
sys.path.insert(0, os.path.join(SOURCE, "tests", "support"))
from ports import held_port as closed_port  # noqa: E402, F401

CRASHHOOK = os.path.join(BUILD, "bin", "crashhook")
CASES = os.path.join(SOURCE, "tests", "cases", "report")


def report_id(number):
    # A minute apart, so that no rate holds them back.
    return f"{0x0193_0000_0000 + number * 60000:012x}"[:8] + \
        f"-{(0x0193_0000_0000 + number * 60000) & 0xffff:04x}-7788-99aa-{number:012x}"


def expanded(path):
    """The report in a file, with every frame in its place."""
    done = subprocess.run([CRASHHOOK, "show", "--json", path], check=True,
                          stdout=subprocess.PIPE)
    return json.loads(done.stdout)


class Spool:
    def __init__(self, reports=1, case="named.json"):
        self.folder = tempfile.mkdtemp(prefix="crashhook-test.")
        self.path = os.path.join(self.folder, "spool")
        os.mkdir(self.path, 0o700)
        self.ids = []
        for number in range(reports):
            self.add(number, case)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        shutil.rmtree(self.folder, ignore_errors=True)

    def file(self, identity, suffix=".json"):
        return os.path.join(self.path, identity + suffix)

    def write(self, name, content):
        with open(os.path.join(self.path, name), "w", encoding="utf-8") as file:
            json.dump(content, file)

    def add(self, number, case="named.json", identity=None, change=None):
        with open(os.path.join(CASES, case), encoding="utf-8") as file:
            report = json.load(file)
        identity = identity or report_id(number)
        report["id"] = identity
        if change:
            change(report)
        temporary = os.path.join(self.folder, "new")
        with open(temporary, "w", encoding="utf-8") as file:
            json.dump(report, file)
        os.rename(temporary, self.file(identity))
        self.ids.append(identity)
        return identity

    def report(self, identity):
        with open(self.file(identity), encoding="utf-8") as file:
            return json.load(file)

    def expanded(self, report):
        """A report that was sent, with every frame in its place."""
        path = os.path.join(self.folder, "sent")
        with open(path, "w", encoding="utf-8") as file:
            json.dump(report, file)
        return expanded(path)

    def state(self, identity):
        with open(self.file(identity, ".state"), encoding="utf-8") as file:
            return json.load(file)["targets"]

    def command(self, *arguments):
        return [CRASHHOOK, "upload", "--spool", self.path, *arguments]

    def start(self, *arguments, **variables):
        environment = {k: v for k, v in os.environ.items()
                       if not k.startswith("CRASHHOOK_")}
        environment.update({"CRASHHOOK_TIMEOUT": "20s", "no_proxy": "127.0.0.1", **variables})
        return subprocess.Popen(self.command(*arguments), env=environment, text=True,
                                stdout=subprocess.PIPE, stderr=subprocess.PIPE)

    def upload(self, *arguments, until=None, **variables):
        """An upload that has ended, or was ended once until said so."""
        process = self.start(*arguments, **variables)
        deadline = time.monotonic() + 60
        while until and not until():
            assert time.monotonic() < deadline, "it did not come"
            time.sleep(0.01)
        if until:
            process.terminate()
        process.stdout_text, process.stderr_text = process.communicate(timeout=60)
        return process
