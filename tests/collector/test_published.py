#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
#
# test_published COLLECTOR FOLDER: pages, the API and messages against what others published:
# axe and Lighthouse, OpenAPI's schema and a client made by it, the events of GitHub and the
# types of Forgejo, PagerDuty, Slack and Discord, and a provider of OpenID Connect behind
# Apache. FOLDER is where tests/check-published installed these; without it all is skipped.

import hashlib
import hmac
import http.cookiejar
import json
import os
import re
import shutil
import socket
import subprocess
import sys
import tempfile
import unittest
import urllib.parse
import urllib.request

import jsonschema

import planted_fleet
import running
import sample_reports
from browser import Browser
from running import Collector
from test_alerts import Hook

BINARY, FOLDER = None, None
HERE = os.path.dirname(os.path.abspath(__file__))
TOKEN = "root"
SIZES = ((360, 740), (1440, 1100), (1920, 1100))
SCORE_LEAST = 0.98
APACHE_MODULES = "/usr/lib/apache2/modules"


def run(*command, **more):
    """Runs a program in FOLDER; what it printed."""
    ended = subprocess.run(command, cwd=FOLDER, capture_output=True, text=True, **more)
    assert ended.returncode == 0, ended.stdout + ended.stderr
    return ended.stdout


def node(*arguments, **more):
    return run("node", *arguments, **more)


def package(*path):
    return os.path.join(FOLDER, "node_modules", *path)


def fleet_of(collector):
    """Sends a fleet and a few reports with more to see; the groups."""
    collector.token = None
    planted_fleet.send(planted_fleet.Fleet(600), collector)
    for number, make in enumerate((sample_reports.null_write, sample_reports.uncaught,
                                   sample_reports.recorded, sample_reports.overflow), 90001):
        collector.post(make(number))
    return collector.json("GET", "/api/v1/groups?is=any&limit=200")[1]["groups"]


@unittest.skipUnless(shutil.which("chromium"), "there is no chromium")
class Pages(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.collector = cls.enterClassContext(Collector(BINARY))
        groups = fleet_of(cls.collector)
        back = next(group["id"] for group in groups if group["status"] == "regressed")
        long = next(group["id"] for group in groups if group["count"] > 20)
        reports = cls.collector.json("GET", "/api/v1/reports?limit=50")[1]["reports"]
        two = [report["id"] for report in reports if report["group"] == back][:2]
        cls.paths = ["/", "/?program=shopd", "/groups", "/groups?q=is:any+program:shopd",
                     "/groups?q=nothing", "/groups?q=signal:x", "/groups/" + back,
                     "/groups/" + long, f"/compare?r={two[0]}&r={two[1]}",
                     "/facets?q=is:any", "/facets?q=is:any&by=kernel&then=release",
                     "/releases",
                     "/releases?program=ledgerd&before=1.9&after=1.10", "/machines", "/symbols", "/alerts", "/access", "/none",
                     *("/reports/" + report["id"] for report in reports
                       if report["executable"].endswith("ledgerd"))][:24]

    def test_axe_finds_no_violation_on_any_page_in_any_width_and_colour(self):
        with open(package("axe-core", "axe.min.js"), encoding="utf-8") as file:
            axe = file.read()
        looked = 0
        with Browser() as browser:
            for width, height in SIZES:
                for dark in (False, True):
                    browser.look(width, height, dark)
                    for path in self.paths:
                        browser.go(self.collector.url + path)
                        browser.evaluate(axe + "; 0")
                        found = browser.call(
                            "Runtime.evaluate", awaitPromise=True, returnByValue=True,
                            expression="axe.run().then(r => r.violations.map(v =>"
                                       " [v.id, v.nodes.slice(0, 3).map(n => n.html)]))")
                        looked += 1
                        with self.subTest(path=path, width=width, dark=dark):
                            self.assertEqual(found["result"]["value"], [])
        print(f"{looked} pages looked at")

    def test_lighthouse_gives_98_of_100_for_performance_and_accessibility(self):
        environment = {**os.environ, "CHROME_PATH": shutil.which("chromium")}
        for path in (*self.paths[:4], self.paths[7], self.paths[-1]):
            best = 0
            for _ in range(4):  # other work takes the browser's time, too
                if best >= SCORE_LEAST:
                    break
                result = json.loads(node(
                    package("lighthouse", "cli", "index.js"), self.collector.url + path,
                    "--quiet", "--output=json",
                    "--only-categories=performance,accessibility", "--chrome-flags=--headless"
                    " --no-sandbox --disable-gpu --disable-dev-shm-usage", env=environment))
                scores = {name: category["score"]
                          for name, category in result["categories"].items()}
                best = max(best, min(scores.values()))
            with self.subTest(path):
                self.assertGreaterEqual(best, SCORE_LEAST, scores)


class Description(unittest.TestCase):
    def test_a_client_made_of_the_description_reads_and_decides(self):
        with Collector(BINARY, tokens=[f"{TOKEN} name=ann"]) as own:
            own.token = TOKEN
            self.assertEqual(own.post(sample_reports.null_write(1))[0], 201)
            with open(os.path.join(FOLDER, "openapi.json"), "wb") as file:
                file.write(own.request("GET", "/api/v1/openapi.json")[2])
            self.assertEqual(node("validate.mjs", "openapi.json"), "3.1 []\n")
            node(package("openapi-typescript", "bin", "cli.js"), "openapi.json", "-o", "api.d.ts")
            node(package("typescript", "bin", "tsc"), "--noEmit", "--strict", "--checkJs",
                 "--skipLibCheck", "--module", "esnext", "--moduleResolution", "bundler", "--target", "es2022", "client.mjs")
            self.assertEqual(json.loads(node("client.mjs", own.url, TOKEN)), [200, "kim", 404])


class Messages(unittest.TestCase):
    def test_what_receivers_are_sent_has_the_types_of_their_services(self):
        names = ("discord", "pagerduty", "slack")
        hooks = {name: self.enterContext(Hook()) for name in names}
        own = Collector(BINARY, extra=["--public-url", "http://c.example"])
        with open(own.path("hooks"), "w", encoding="utf-8") as file:
            for name, hook in hooks.items():
                for more in ("window=0s", "window=1s"):
                    key = " key=R" if name == "pagerduty" else ""
                    file.write(f"{hook.url}{'?x' if more[-2] == '1' else ''}"
                               f" format={name}{key} {more}\n")
        own.extra += ["--webhook-file", own.path("hooks")]
        with own:
            for number in (1, 2):
                report = sample_reports.null_write(number)
                report["fingerprint"] = f"{number:08x}" * 4
                self.assertEqual(own.post(report)[0], 201)
            sent = {name: [hook.next()[1] for _ in range(3)] for name, hook in hooks.items()}
        with open(os.path.join(FOLDER, "sent.ts"), "w", encoding="utf-8") as file:
            for name, bodies in sent.items():
                # A string that is one of a few literals is no `string`.
                file.write(f"export const {name} = {json.dumps(bodies)} as const;\n"
                           .replace("] as const", "]").replace(
                               '"event_action": "trigger"',
                               '"event_action": "trigger" as const').replace(
                               '"severity": "error"', '"severity": "error" as const'))
        node(package("typescript", "bin", "tsc"), "--noEmit", "--strict", "--skipLibCheck",
             "--module", "esnext", "--moduleResolution", "bundler", "--target", "es2022", "messages.ts")

    def test_each_published_event_of_github_about_an_issue_is_understood(self):
        with open(package("@octokit", "webhooks-examples", "api.github.com", "index.json"),
                  encoding="utf-8") as file:
            events = next(event["examples"] for event in json.load(file)
                          if event["name"] == "issues")
        with open(package("@octokit", "webhooks-schemas", "schema.json"),
                  encoding="utf-8") as file:
            schema = json.load(file)
        schema["oneOf"] = [{"$ref": "#/definitions/issues$closed"}]
        # There is no example of the event that is most important here.
        again = next(event for event in events if event["action"] == "reopened")
        events.append({**again, "action": "closed", "issue":
                       {**again["issue"], "state": "closed",
                        "closed_at": "2019-05-15T15:20:21Z", "state_reason": "completed"}})
        jsonschema.validate(events[-1], schema)
        own = Collector(BINARY)
        with open(own.path("tickets"), "w", encoding="utf-8") as file:
            file.write("secret=s3cret\n")
        own.extra += ["--ticket-file", own.path("tickets")]
        with own:
            group = own.post(sample_reports.null_write(1))[1]["group"]
            for number, event in enumerate(events):
                event["issue"]["body"] = "http://127.0.0.1/groups/" + group
                event["issue"]["updated_at"] = f"2025-01-01T00:00:{number:02}Z"
                body = json.dumps(event).encode()
                sum = hmac.new(b"s3cret", body, hashlib.sha256).hexdigest()
                answer = own.json("POST", "/api/v1/tickets", body,
                                  {"X-GitHub-Event": "issues",
                                   "X-Hub-Signature-256": "sha256=" + sum})
                self.assertEqual(answer, (200, {"group": group}), event["action"])
                found = own.json("GET", "/api/v1/groups/" + group)[1]
                action = event["action"]
                ticket = next(t for t in found["tickets"]
                              if t["url"] == event["issue"]["html_url"])
                self.assertEqual(ticket["state"], action if action in
                                 ("deleted", "transferred") else event["issue"].get("state", "open"))
                if action in ("closed", "reopened"):
                    self.assertEqual(found["status"],
                                     "resolved" if action == "closed" else "open")


def free_port():
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return listener.getsockname()[1]


APACHE = """
ServerRoot {folder}
PidFile {folder}/pid
ErrorLog {folder}/error
Listen 127.0.0.1:{port}
ServerName 127.0.0.1
{modules}
OIDCProviderMetadataURL {provider}/.well-known/openid-configuration
OIDCClientID collector
OIDCClientSecret of-the-collector
OIDCRedirectURI http://127.0.0.1:{port}/signed-in
OIDCCryptoPassphrase of-apache
OIDCScope "openid profile"
OIDCRemoteUserClaim preferred_username
OIDCAuthNHeader X-User
<Location />
  AuthType openid-connect
  Require valid-user
  ProxyPreserveHost On
  ProxyPass {collector}/
</Location>
"""


@unittest.skipUnless(os.path.exists(APACHE_MODULES + "/mod_auth_openidc.so"),
                     "there is no mod_auth_openidc")
class SignIn(unittest.TestCase):
    """Apache signs people in at a provider, and names them and their groups."""

    def setUp(self):
        self.own = self.enterContext(Collector(
            BINARY, tokens=["group name=ops scopes=read,triage", f"{TOKEN} scopes=send"],
            extra=["--trusted-user-header", "X-User", "--trusted-groups-header", "OIDC_CLAIM_groups",
                   "--trusted-proxy", "127.0.0.1"]))
        self.own.token = TOKEN
        self.group = self.own.post(sample_reports.null_write(1))[1]["group"]
        folder = tempfile.mkdtemp(prefix="crashhook-apache-")
        self.addCleanup(shutil.rmtree, folder)
        os.chmod(folder, 0o755)
        self.port, provider = free_port(), free_port()
        self.url = f"http://127.0.0.1:{self.port}"
        self.start("node", "provider.mjs", str(provider), self.url + "/signed-in")
        modules = "\n".join(
            f"LoadModule {name}_module {APACHE_MODULES}/mod_{name}.so"
            for name in ("mpm_event", "authn_core", "authz_core", "authz_user", "headers",
                         "proxy", "proxy_http", "auth_openidc", "env"))
        with open(folder + "/conf", "w", encoding="utf-8") as file:
            file.write(APACHE.format(folder=folder, port=self.port, modules=modules,
                                     provider=f"http://127.0.0.1:{provider}",
                                     collector=self.own.url))
        for port in (provider, self.port):
            if port == self.port:
                self.start("/usr/sbin/apache2", "-X", "-f", folder + "/conf")
            running.wait_for(lambda: self.listens(port), "it listens")

    def start(self, *command):
        process = subprocess.Popen(command, cwd=FOLDER, stdout=subprocess.DEVNULL)
        self.addCleanup(process.wait)
        self.addCleanup(process.kill)

    @staticmethod
    def listens(port):
        with socket.socket() as caller:
            return caller.connect_ex(("127.0.0.1", port)) == 0

    def sign_in(self, name):
        """The browser of a person, and the status and text of the overview."""
        cookies = urllib.request.HTTPCookieProcessor(http.cookiejar.CookieJar())
        browser = urllib.request.build_opener(cookies)
        browser.addheaders.append(("Accept", "text/html"))
        answer = browser.open(self.url + "/")
        # The provider's own forms: who it is, then whether the collector may know.
        for fields in ({"prompt": "login", "login": name, "password": "x"},
                       {"prompt": "consent"}):
            text = answer.read().decode()
            form = urllib.parse.urljoin(answer.url, re.search(
                r'<form[^>]* action="([^"]+)"', text).group(1))
            try:
                answer = browser.open(form, urllib.parse.urlencode(fields).encode())
            except urllib.error.HTTPError as failure:
                return browser, failure.code, failure.read().decode()
        return browser, answer.status, answer.read().decode()

    def test_a_person_signs_in_and_may_do_what_their_groups_may(self):
        browser, status, text = self.sign_in("kim")
        self.assertEqual((status, "<h1 class=\"plain\">Overview" in text), (200, True), text)
        request = urllib.request.Request(
            f"{self.url}/groups/{self.group}", b"comment=seen",
            {"Sec-Fetch-Site": "same-origin", "X-User": "root", "OIDC_CLAIM_groups": "x"})
        text = browser.open(request).read().decode()
        self.assertRegex(text, r"kim[^\n]*seen|seen[^\n]*kim")
        self.assertEqual(self.sign_in("eve")[1], 403)


if __name__ == "__main__":
    BINARY, FOLDER = sys.argv.pop(1), os.path.abspath(sys.argv.pop(1))
    if not os.path.isdir(package()):
        print("skipped: tests/check-published has not installed what others published")
        sys.exit(77)
    for name in os.listdir(os.path.join(HERE, "published")):
        shutil.copy(os.path.join(HERE, "published", name), FOLDER)
    unittest.main(verbosity=2)
