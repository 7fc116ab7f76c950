# SPDX-License-Identifier: Apache-2.0
#
# As much of a client of the Debug Adapter Protocol as opening a core takes.

import json
import subprocess


class Adapter:
    """A debug adapter that is spoken to over its standard streams."""

    def __init__(self, *command):
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                        stderr=subprocess.DEVNULL)
        self.number = 0
        self.heard = []

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.kill()
        self.process.communicate()

    def send(self, command, **arguments):
        self.number += 1
        body = json.dumps({"seq": self.number, "type": "request", "command": command,
                           "arguments": arguments}).encode()
        self.process.stdin.write(b"Content-Length: %d\r\n\r\n" % len(body) + body)
        self.process.stdin.flush()
        return self.number

    def hear(self, wanted):
        """The first message that wanted is true of; those before it stay in heard."""
        found = next((one for one in self.heard if wanted(one)), None)
        while found is None:
            size = 0
            while line := self.process.stdout.readline().strip():
                size = int(line.split(b":")[1])
            if size == 0:
                raise AssertionError(f"the adapter has ended after {self.heard[-3:]}")
            self.heard.append(json.loads(self.process.stdout.read(size)))
            found = self.heard[-1] if wanted(self.heard[-1]) else None
        return found

    def answer(self, number):
        found = self.hear(lambda one: one.get("request_seq") == number)
        if not found["success"]:
            raise AssertionError(found)
        return found.get("body")

    def ask(self, command, **arguments):
        return self.answer(self.send(command, **arguments))

    def open_core(self, **attach):
        """Attaches to a core; what the adapter printed until it stopped there."""
        self.ask("initialize", adapterID="test", pathFormat="path")
        number = self.send("attach", **attach)
        self.hear(lambda one: one.get("event") == "initialized")
        self.ask("configurationDone")
        self.answer(number)
        self.hear(lambda one: one.get("event") == "stopped")
        return "".join(one["body"]["output"] for one in self.heard
                       if one.get("event") == "output")
