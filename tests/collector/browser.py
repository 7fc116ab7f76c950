# SPDX-License-Identifier: Apache-2.0
#
# Chromium without a window, spoken to in its own protocol over a pair of pipes
# (--remote-debugging-pipe: JSON messages, each ended by a NUL). Nothing but Python and
# the browser is needed.

import base64
import json
import os
import select
import shutil
import subprocess
import tempfile
import time

FLAGS = """--headless --no-sandbox --disable-gpu --disable-quic --no-first-run
    --disable-background-networking --disable-component-update --disable-sync
    --disable-dev-shm-usage --hide-scrollbars --remote-debugging-pipe""".split()
PATIENCE_S = 60


class Browser:
    """One browser with one page."""

    def __init__(self, program="chromium"):
        self.profile = tempfile.mkdtemp(prefix="crashhook-browser-")
        commands, self.commands = os.pipe()
        self.answers, answers = os.pipe()
        # The browser reads descriptor 3 and writes 4. Both go to free ones above first,
        # so that neither is overwritten by the other's move.
        move = f"exec {{a}}<&{commands} {{b}}>&{answers}; exec 3<&$a 4>&$b"
        self.process = subprocess.Popen(
            ["/bin/bash", "-c", move + '; exec "$@"', "bash", program, *FLAGS,
             "--user-data-dir=" + self.profile, "about:blank"],
            pass_fds=(commands, answers), stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL, start_new_session=True)
        os.close(commands)
        os.close(answers)
        self.unread = b""
        self.events = []
        self.number = 0
        self.session = None
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        self.session = self.call("Target.attachToTarget", targetId=target,
                                 flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Network", "Log"):
            self.call(domain + ".enable")

    def __enter__(self):
        return self

    def __exit__(self, *_):
        try:
            self.session = None
            self.call("Browser.close")
            self.process.wait(timeout=20)
        except (RuntimeError, subprocess.TimeoutExpired, OSError):
            self.process.kill()
            self.process.wait()
        os.close(self.commands)
        os.close(self.answers)
        shutil.rmtree(self.profile, ignore_errors=True)

    def read(self):
        """The next message from the browser."""
        limit = time.monotonic() + PATIENCE_S
        while b"\0" not in self.unread:
            ready, _, _ = select.select([self.answers], [], [],
                                        max(0, limit - time.monotonic()))
            piece = os.read(self.answers, 1 << 20) if ready else b""
            if not piece:
                raise RuntimeError("the browser said nothing more")
            self.unread += piece
        message, self.unread = self.unread.split(b"\0", 1)
        return json.loads(message)

    def call(self, method, **parameters):
        self.number += 1
        message = {"id": self.number, "method": method, "params": parameters}
        if self.session:
            message["sessionId"] = self.session
        data = json.dumps(message).encode() + b"\0"
        while data:
            data = data[os.write(self.commands, data):]
        while True:
            answer = self.read()
            if answer.get("id") == self.number:
                if "error" in answer:
                    raise RuntimeError(f"{method}: {answer['error']}")
                return answer["result"]
            self.events.append(answer)

    def wait_event(self, method):
        while True:
            for i, event in enumerate(self.events):
                if event.get("method") == method:
                    return self.events.pop(i)
            self.events.append(self.read())

    def look(self, width, height, dark):
        """Sets how wide the window is and which colours its user prefers."""
        self.call("Emulation.setDeviceMetricsOverride", width=width, height=height,
                  deviceScaleFactor=1, mobile=width < 600)
        self.call("Emulation.setEmulatedMedia", features=[
            {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}])

    def click(self, selector):
        """Clicks what leads to another page, and waits for that."""
        self.events.clear()
        self.evaluate(f"document.querySelector({json.dumps(selector)}).click()")
        self.wait_event("Page.loadEventFired")

    def ask(self, selector):
        """Clicks what leads to a file, and returns the address that is asked for."""
        self.events.clear()
        self.evaluate(f"document.querySelector({json.dumps(selector)}).click()")
        return self.wait_event("Network.requestWillBeSent")["params"]["request"]["url"]

    def type(self, selector, text):
        self.evaluate(f"document.querySelector({json.dumps(selector)}).value = "
                      + json.dumps(text))

    def press(self, key, leads=False):
        """Presses a key, as a person does; leads: to another page, which is waited for."""
        number, text = {"Tab": (9, ""), "Enter": (13, "\r"), "Space": (32, " ")}[key]
        name = " " if key == "Space" else key
        self.events.clear()
        for kind in ("keyDown" if text else "rawKeyDown", "keyUp"):
            self.call("Input.dispatchKeyEvent", type=kind, key=name, code=key,
                      windowsVirtualKeyCode=number, text=text if kind == "keyDown" else "")
        if leads:
            self.wait_event("Page.loadEventFired")

    def press_access_key(self, letter):
        """Presses the access key of what leads to another page."""
        self.events.clear()
        for kind in ("rawKeyDown", "char", "keyUp"):
            self.call("Input.dispatchKeyEvent", type=kind, key=letter, modifiers=1,
                      text=letter if kind == "char" else "", unmodifiedText=letter,
                      windowsVirtualKeyCode=ord(letter.upper()))
        self.wait_event("Page.loadEventFired")

    def write(self, text):
        """Types text where the focus is."""
        self.call("Input.insertText", text=text)

    def tab_to(self, selector, most=80):
        """Presses Tab until the focus is on what the selector names."""
        for _ in range(most):
            self.press("Tab")
            if self.evaluate("document.activeElement.matches("
                             f"{json.dumps(selector)})"):
                return
        raise AssertionError(f"{selector} is not reached by {most} presses of Tab")

    def scripts(self, allowed):
        self.call("Emulation.setScriptExecutionDisabled", value=not allowed)

    def go(self, url):
        """Loads url; what was asked for on the way, and what was complained about. A
        complaint about another server is a late word on the page before: what this
        page asks of others is in the first list."""
        self.events.clear()
        self.call("Page.navigate", url=url)
        self.wait_event("Page.loadEventFired")
        asked = [event["params"]["request"]["url"] for event in self.events
                 if event.get("method") == "Network.requestWillBeSent"]
        complaints = [event["params"] for event in self.events
                      if event.get("method") in ("Log.entryAdded",
                                                 "Runtime.exceptionThrown",
                                                 "Runtime.consoleAPICalled")]
        server = "/".join(url.split("/")[:3]) + "/"
        return asked, [complaint for complaint in complaints
                       if complaint.get("entry", {}).get("url", server)
                       .startswith(server)]

    def evaluate(self, expression):
        result = self.call("Runtime.evaluate", expression=expression,
                           returnByValue=True)
        if "exceptionDetails" in result:
            raise RuntimeError(f"{expression}: {result['exceptionDetails']['text']}")
        return result["result"].get("value")

    def screenshot(self, path, whole=False):
        """Writes what is seen, or with whole the page down to its end, as PNG."""
        result = self.call("Page.captureScreenshot", format="png",
                           captureBeyondViewport=whole)
        with open(path, "wb") as file:
            file.write(base64.b64decode(result["data"]))
