# SPDX-License-Identifier: Apache-2.0
#
# crashhook upload against servers that fail in every way, over real sockets, with real
# locks between real processes.

import contextlib
import email.utils
import fcntl
import json
import os
import pty
import shutil
import signal
import subprocess
import sys
import threading
import time
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../support"))

import fault_server
import place
from certificates import make_certificate
from fault_server import FaultServer, answer, take
from spool_folder import CRASHHOOK, Spool, closed_port, report_id



class Delivery(unittest.TestCase):
    def test_a_report_is_sent_once(self):
        with Spool() as spool, FaultServer() as server:
            first = spool.upload("--url", server.url)
            second = spool.upload("--url", server.url)
            self.assertEqual((first.returncode, second.returncode), (0, 0),
                             first.stderr_text)
            self.assertEqual(server.ids(), spool.ids)
            self.assertEqual(server.requests[0].line,
                             "POST /api/v1/reports HTTP/1.1")
            self.assertEqual(spool.state(spool.ids[0])[0]["state"], "sent")

    def test_what_arrives_is_what_lies_in_the_spool(self):
        with Spool() as spool, FaultServer() as server:
            spool.upload("--url", server.url)
            sent = server.requests[0].report()
            self.assertEqual(sent["schema"], "crashhook.report/2")
            self.assertEqual(spool.expanded(sent), spool.report(spool.ids[0]))

    def test_every_target_gets_every_report(self):
        with Spool(2) as spool, FaultServer() as one, FaultServer() as two:
            done = spool.upload("--url", f"{one.url} {two.url}/base/")
            self.assertEqual(done.returncode, 0, done.stderr_text)
            self.assertEqual(one.ids(), spool.ids)
            self.assertEqual(two.ids(), spool.ids)
            self.assertEqual(two.requests[0].line,
                             "POST /base/api/v1/reports HTTP/1.1")

    def test_a_collector_that_was_down_gets_each_report_once_when_it_is_up(self):
        with Spool(3) as spool:
            port = closed_port()
            down = spool.upload("--url", f"http://127.0.0.1:{port}",
                                CRASHHOOK_TIMEOUT="1s")
            self.assertEqual(down.returncode, 1)
            self.assertEqual(down.stderr_text.count("cannot upload report"), 1,
                             down.stderr_text)
            self.assertIn("3 could not be sent", down.stderr_text)
            with FaultServer() as server:
                up = spool.upload("--url", server.url)
                again = spool.upload("--url", server.url)
                self.assertEqual((up.returncode, again.returncode), (0, 0))
                self.assertEqual(sorted(server.ids()), spool.ids)

    def test_a_raw_report_gets_its_names_before_it_is_sent(self):
        with Spool(1, "raw.json") as spool, FaultServer() as server:
            done = spool.upload("--url", server.url, CRASHHOOK_TIMEOUT="20s")
            self.assertEqual(done.returncode, 0, done.stderr_text)
            self.assertEqual(server.requests[0].report()["revision"], 1)
            self.assertEqual(spool.report(spool.ids[0])["revision"], 1)

    def test_raw_reports_of_the_same_places_get_the_same_names(self):
        with Spool(3, "raw.json") as spool, FaultServer() as server:
            done = spool.upload("--url", server.url, CRASHHOOK_TIMEOUT="20s")
            self.assertEqual(done.returncode, 0, done.stderr_text)
            sent = [spool.expanded(request.report()) for request in server.requests]
            self.assertEqual([report["revision"] for report in sent], [1, 1, 1])
            self.assertEqual(sent[1]["threads"], sent[0]["threads"])
            self.assertEqual(sent[2]["threads"], sent[0]["threads"])
            self.assertEqual([spool.report(id_)["revision"] for id_ in spool.ids], [1, 1, 1])

    def test_many_reports_are_sent_several_at_a_time_and_once_each(self):
        def take_with_the_next(connection, request):
            server.await_requests(10)  # this is the ninth
            take(connection, request)

        with Spool(30) as spool, FaultServer(*[take] * 8, take_with_the_next,
                                             take) as server:
            done = spool.upload("--url", server.url)
            self.assertEqual((done.returncode, done.stderr_text), (0, "crashhook: sent 30\n"))
            self.assertEqual(server.ids()[:8], spool.ids[:8])
            self.assertEqual(sorted(server.ids()), spool.ids)
            self.assertEqual({spool.state(id_)[0]["state"] for id_ in spool.ids}, {"sent"})

    def test_a_server_that_stops_taking_reports_is_not_sent_the_others(self):
        busy = answer(503, b"", ["Retry-After: 600"])
        with Spool(20) as spool, FaultServer(*[take] * 8, busy) as server:
            done = spool.upload("--url", server.url)
            self.assertEqual(done.returncode, 1)
            # Two were under way when the first of them was refused.
            self.assertLessEqual(len(server.requests), 10)
            self.assertIn("12 could not be sent", done.stderr_text)
            self.assertEqual(done.stderr_text.count("cannot upload report"), 1,
                             done.stderr_text)

    def test_a_token_is_sent_from_its_file(self):
        with Spool() as spool, FaultServer() as server:
            path = os.path.join(spool.folder, "token")
            with open(path, "w", encoding="utf-8") as file:
                file.write("secret-42\n")
            os.chmod(path, 0o600)
            spool.upload("--url", server.url, CRASHHOOK_TOKEN_FILE=path)
            self.assertEqual(server.requests[0].headers["authorization"],
                             "Bearer secret-42")

    def test_a_token_that_others_may_write_is_refused(self):
        with Spool() as spool, FaultServer() as server:
            path = os.path.join(spool.folder, "token")
            with open(path, "w", encoding="utf-8") as file:
                file.write("secret-42\n")
            os.chmod(path, 0o666)
            done = spool.upload("--url", server.url, CRASHHOOK_TOKEN_FILE=path)
            self.assertEqual(done.returncode, 1)
            self.assertIn("others may write to it", done.stderr_text)
            self.assertEqual(server.requests, [])

    def test_a_password_in_a_url_is_written_nowhere(self):
        with Spool() as spool:
            url = f"http://ann:hunter2@127.0.0.1:{closed_port()}"
            done = spool.upload("--url", url, CRASHHOOK_TIMEOUT="1s")
            with open(spool.file(spool.ids[0], ".state"), encoding="utf-8") as file:
                self.assertNotIn("hunter2", file.read() + done.stderr_text)

    def test_a_word_that_is_no_url_is_one_line(self):
        with Spool() as spool, FaultServer() as server:
            done = spool.upload("--url", f"nonsense {server.url}")
            self.assertEqual(done.returncode, 0)
            self.assertIn("cannot upload to 'nonsense'", done.stderr_text)
            self.assertEqual(server.ids(), spool.ids)


class Failures(unittest.TestCase):
    def pending_after(self, behaviour, slow=False):
        """The one line that an upload to such a server says; the report waits."""
        line = self.line_about(behaviour, "900ms")
        if "timed out" in line and not slow:  # it is this machine that was
            line = self.line_about(behaviour, "20s")
        return line

    def line_about(self, behaviour, timeout):
        with Spool() as spool, FaultServer(behaviour) as server:
            began = time.monotonic()
            done = spool.upload("--url", server.url, CRASHHOOK_TIMEOUT=timeout)
            self.assertLess(time.monotonic() - began, 40)
            self.assertEqual(done.returncode, 1)
            target = spool.state(spool.ids[0])[0]
            self.assertEqual(target["state"], "pending")
            self.assertGreater(target["next_time"], time.time() - 5)
            lines = [line for line in done.stderr_text.splitlines()
                     if "cannot upload report" in line]
            self.assertEqual(len(lines), 1, done.stderr_text)
            self.assertIn(target["error"], lines[0])
            return lines[0]

    def test_garbage_for_an_answer_leaves_the_report_pending(self):
        self.assertIn("not a collector's", self.pending_after(answer(201, b"<html>hi")))

    def test_an_answer_about_another_report_leaves_it_pending(self):
        other = b'{"id":"01928374-5566-7788-99aa-000000000000","group":"g"}'
        self.assertIn("not a collector's", self.pending_after(answer(201, other)))

    def test_an_endless_answer_is_cut_off(self):
        self.assertIn("too long", self.pending_after(fault_server.endless_body))

    def test_endless_headers_are_cut_off(self):
        self.assertIn("too long", self.pending_after(fault_server.endless_headers))

    def test_endless_interim_answers_are_cut_off(self):
        self.pending_after(fault_server.endless_continue, slow=True)

    def test_silence_ends_with_the_timeout(self):
        self.assertIn("timed out", self.pending_after(fault_server.say_nothing, slow=True))

    def test_a_connection_that_breaks_leaves_the_report_pending(self):
        self.pending_after(fault_server.hang_up)

    def test_a_redirect_to_another_host_is_not_followed(self):
        with FaultServer() as other:
            line = self.pending_after(
                answer(307, b"", [f"Location: {other.url}/api/v1/reports"]))
            self.assertIn("307", line)
            self.assertEqual(other.requests, [])

    def test_a_certificate_nobody_vouches_for_is_refused(self):
        with Spool() as spool:
            tls, path = make_certificate(spool.folder)
            with FaultServer(tls=tls) as server:
                refused = spool.upload("--url", server.url, CRASHHOOK_TIMEOUT="900ms")
                self.assertEqual(refused.returncode, 1)
                self.assertIn("certificate", refused.stderr_text)
                self.assertEqual(server.requests, [])
                trusted = spool.upload("--url", server.url, SSL_CERT_FILE=path,
                                       CURL_CA_BUNDLE="")
                self.assertEqual(trusted.returncode, 0, trusted.stderr_text)

    def test_a_machine_without_libcurl_keeps_the_report_and_says_why(self):
        with Spool() as spool:
            subprocess.run(["gcc", "-shared", "-x", "c", "/dev/null", "-o",
                            os.path.join(spool.folder, "libcurl.so.4")], check=True)
            done = spool.upload("--url", f"http://127.0.0.1:{closed_port()}",
                                LD_LIBRARY_PATH=spool.folder, CRASHHOOK_TIMEOUT="900ms")
            self.assertEqual(done.returncode, 1)
            self.assertIn("curl_global_init", done.stderr_text)
            self.assertEqual(spool.state(spool.ids[0])[0]["state"], "pending")

    def test_a_wrong_token_leaves_the_report_pending(self):
        self.assertIn("401: no such token",
                      self.pending_after(answer(401, b'{"error":"no such token"}')))

    def test_what_a_server_says_cannot_steer_a_terminal(self):
        line = self.pending_after(answer(503, b'{"error":"\\u001b[2J\\nfine"}'))
        self.assertIn("?[2J?fine", line)

    def test_a_refused_report_is_kept_as_failed_with_the_reason(self):
        with Spool(2) as spool:
            with FaultServer(answer(413, b'{"error":"too large"}'), take) as server:
                done = spool.upload("--url", server.url)
                again = spool.upload("--url", server.url)
                self.assertEqual((done.returncode, again.returncode), (1, 0))
                self.assertEqual(len(server.requests), 2)
            target = spool.state(spool.ids[0])[0]
            self.assertEqual(target["state"], "failed")
            self.assertIn("413: too large", target["error"])
            self.assertEqual(spool.state(spool.ids[1])[0]["state"], "sent")

    def test_a_server_in_trouble_is_asked_again(self):
        with Spool() as spool, FaultServer(answer(503), take) as server:
            done = spool.upload("--url", server.url, CRASHHOOK_TIMEOUT="20s")
            self.assertEqual(done.returncode, 0, done.stderr_text)
            self.assertEqual(len(server.requests), 2)
            self.assertEqual(spool.state(spool.ids[0])[0]["attempts"], 2)

    def test_retry_after_in_seconds_is_waited_for(self):
        slow_down = answer(429, b"", ["Retry-After: 2"])
        with Spool() as spool, FaultServer(slow_down, take) as server:
            began = time.time()
            done = spool.upload("--url", server.url, CRASHHOOK_TIMEOUT="20s")
            self.assertEqual(done.returncode, 0, done.stderr_text)
            self.assertGreaterEqual(time.time() - began, 2.0)

    def test_retry_after_as_a_date_is_kept(self):
        with Spool() as spool, FaultServer(fault_server.retry_after_date(500)) as server:
            done = spool.upload("--url", server.url)
            self.assertEqual(done.returncode, 1)
            wait = spool.state(spool.ids[0])[0]["next_time"] - time.time()
            self.assertTrue(400 < wait < 760, wait)

    def test_headers_of_a_response_before_the_final_one_are_not_its_headers(self):
        def hint(connection, _):
            connection.sendall(b"HTTP/1.1 103 Early Hints\r\nRetry-After: 5000\r\n\r\n" +
                               fault_server.response(503))
        with Spool() as spool, FaultServer(hint) as server:
            done = spool.upload("--url", server.url, CRASHHOOK_TIMEOUT="900ms")
            self.assertEqual(done.returncode, 1)
            state = spool.state(spool.ids[0])[0]
            self.assertLess(state["next_time"] - state["last_time"], 1000)

    def test_whatever_retry_after_says_a_report_is_sent_at_most_once_a_second(self):
        now = time.time()
        date = lambda seconds: email.utils.formatdate(now + seconds, usegmt=True)
        values = ("", "0", "00", "1", "2", "59", "3600", "57600", "86399", "86400", "86401",
                  "129600", "9" * 19, "1" + "0" * 30, "-1", "-86400", "+5", "1.5", "soon",
                  "0x10", "1 2", "\t7", date(-10 ** 9), date(-1), date(1), date(86400),
                  date(10 ** 9), "Thu, 01 Jan 1970 00:00:00 GMT",
                  "Fri, 31 Dec 9999 23:59:59 GMT", "99 Foo 2000", "x" * 70)
        watching_s = 4
        with contextlib.ExitStack() as stack:
            runs = []
            for i, value in enumerate(values):
                spool = stack.enter_context(Spool(1))
                server = stack.enter_context(FaultServer(
                    answer((429, 503)[i % 2], b"", ["Retry-After: " + value])))
                watcher = spool.start("--url", server.url, "--watch")
                stack.callback(watcher.communicate)
                stack.callback(watcher.kill)
                runs.append((value, spool, server))
            for _, _, server in runs:
                server.await_requests(1)
            # How many requests come in a time takes that time to find out.
            began = time.monotonic()
            before = [len(server.requests) for _, _, server in runs]
            time.sleep(watching_s)
            for (value, spool, server), first in zip(runs, before):
                passed = time.monotonic() - began
                self.assertLessEqual(len(server.requests) - first, passed + 1, value)
                state = spool.state(spool.ids[0])[0]
                self.assertIn(state["next_time"] - state["last_time"],
                              range(1, 86401), value)
                if value.isdigit() and int(value) > 60:
                    self.assertEqual(len(server.requests), 1, value)
        print(f"{len(values)} values of Retry-After")


class Unreadable(unittest.TestCase):
    def test_each_is_one_line_however_many_passes_meet_it(self):
        with Spool(1) as spool, FaultServer(answer(503), answer(503), take) as server:
            broken = [report_id(7), report_id(8), report_id(9)]
            with open(spool.file(broken[0]), "w", encoding="utf-8") as file:
                file.write("{}")
            os.mkfifo(spool.file(broken[1]))
            shutil.copy(spool.file(spool.ids[0]), spool.file(broken[2]))
            done = spool.upload("--url", server.url, CRASHHOOK_TIMEOUT="60s")
            listed = subprocess.run([CRASHHOOK, "list", "--json", "--spool", spool.path],
                                    stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                    text=True, check=False)
            self.assertEqual(len(server.requests), 3)
            for identity in broken:
                for said in (done.stderr_text, listed.stderr):
                    self.assertEqual(said.count(f"cannot read report {identity}: "), 1, said)
            self.assertEqual((done.returncode, listed.returncode), (1, 1))
            self.assertEqual([row["id"] for row in json.loads(listed.stdout)], spool.ids)


def delete(path):
    """Deletes a folder that somebody still writes to; under its own name there may be
    another by then."""
    gone = path + ".gone"
    os.rename(path, gone)
    while os.path.exists(gone):
        shutil.rmtree(gone, ignore_errors=True)


class Sharing(unittest.TestCase):
    def test_two_uploaders_never_send_one_report_twice(self):
        with Spool(20) as spool, FaultServer() as server:
            uploaders = [spool.start("--url", server.url) for _ in range(3)]
            for uploader in uploaders:
                uploader.communicate(timeout=60)
            self.assertEqual(sorted(server.ids()), spool.ids)

    def test_a_report_that_somebody_holds_is_left_alone(self):
        with Spool() as spool, FaultServer() as server:
            with open(spool.file(spool.ids[0]), "rb") as file:
                fcntl.flock(file, fcntl.LOCK_EX)
                done = spool.upload("--url", server.url)
            self.assertEqual(done.returncode, 0)
            self.assertIn("left 1", done.stderr_text)
            self.assertEqual(server.requests, [])

    def test_a_killed_uploaders_report_is_taken_over(self):
        with Spool() as spool, FaultServer(fault_server.say_nothing, take) as server:
            first = spool.start("--url", server.url, CRASHHOOK_TIMEOUT="60s")
            server.await_requests(1)
            first.kill()
            first.communicate()
            done = spool.upload("--url", server.url)
            self.assertEqual(done.returncode, 0, done.stderr_text)
            self.assertEqual(server.ids(), spool.ids * 2)
            self.assertEqual(spool.state(spool.ids[0])[0]["state"], "sent")

    def test_watch_sends_reports_as_they_come(self):
        with Spool(1) as spool, FaultServer() as server:
            watcher = spool.start("--url", server.url, "--watch")
            try:
                server.await_requests(1)
                spool.add(1)
                server.await_requests(2)
            finally:
                watcher.send_signal(signal.SIGTERM)
                watcher.communicate(timeout=20)
            self.assertEqual(server.ids(), spool.ids)

    def test_watch_that_is_stopped_sends_what_has_come_before_it_ends(self):
        stopped = threading.Event()

        def take_late(connection, request):
            stopped.wait(20)
            take(connection, request)

        with Spool(1) as spool, FaultServer(take_late, take) as server:
            watcher = spool.start("--url", server.url, "--watch")
            try:
                server.await_requests(1)
                spool.add(1)
                watcher.send_signal(signal.SIGTERM)
            finally:
                stopped.set()
                watcher.communicate(timeout=20)
            self.assertEqual(watcher.returncode, 0)
            self.assertEqual(server.ids(), spool.ids)

    def test_watch_looks_at_the_spool_itself_where_inotify_runs_out(self):
        none = "echo 0 > /proc/sys/user/max_inotify_"
        namespace = ["unshare", "--user", "--map-root-user", "sh", "-c"]
        for limit in ("instances", "watches"):
            why = place.refusal(*namespace, none + limit)
            if why:
                self.skipTest(why)
            with self.subTest(limit), Spool(1) as spool, FaultServer() as server:
                command = spool.command
                spool.command = lambda *arguments, command=command, limit=limit: [
                    *namespace, none + limit + ' && exec "$@"', "sh", *command(*arguments)]
                watcher = spool.start("--url", server.url, "--watch")
                try:
                    server.await_requests(1)
                    spool.add(1)
                    server.await_requests(2)
                finally:
                    watcher.send_signal(signal.SIGTERM)
                    watcher.communicate(timeout=20)
                self.assertEqual(server.ids(), spool.ids)

    def test_watch_may_start_before_there_is_a_spool(self):
        with Spool(0) as spool, FaultServer() as server:
            os.rmdir(spool.path)
            watcher = spool.start("--url", server.url, "--watch")
            try:
                while not os.path.isdir(spool.path) and watcher.poll() is None:
                    time.sleep(0.01)
                spool.add(1)
                server.await_requests(1)
            finally:
                watcher.kill()
                watcher.communicate(timeout=20)

    def test_watch_finds_the_spool_that_took_the_place_of_the_first(self):
        for name, take_away in (("moved", lambda path: os.rename(path, path + ".old")),
                                ("deleted", delete)):
            with self.subTest(name), Spool(1) as spool, FaultServer() as server:
                watcher = spool.start("--url", server.url, "--watch")
                try:
                    server.await_requests(1)
                    take_away(spool.path)
                    while not os.path.isdir(spool.path) and watcher.poll() is None:
                        time.sleep(0.01)
                    spool.add(1)
                    server.await_requests(2, 60)
                finally:
                    watcher.kill()
                    watcher.communicate(timeout=20)
                self.assertEqual(server.ids(), spool.ids)

    def test_watch_asks_a_server_in_trouble_again(self):
        with Spool(1) as spool, FaultServer(answer(500), take) as server:
            watcher = spool.start("--url", server.url, "--watch")
            try:
                server.await_requests(2)
            finally:
                watcher.kill()
                watcher.communicate(timeout=20)

    def test_watch_keeps_the_time_that_a_target_asked_for(self):
        with Spool(2) as spool, FaultServer() as server:
            with open(spool.file(spool.ids[0], ".state"), "w", encoding="utf-8") as file:
                json.dump({"targets": [{"url": server.url, "state": "pending",
                                        "attempts": 1,
                                        "next_time": int(time.time()) + 1000}]}, file)
            watcher = spool.start("--url", server.url, "--watch")
            try:
                server.await_requests(1)
                spool.add(2)
                server.await_requests(2)
            finally:
                watcher.kill()
                watcher.communicate(timeout=20)
            self.assertEqual(server.ids(), spool.ids[1:])

    def test_watch_rests_when_there_is_nothing_to_do(self):
        with Spool(2) as spool, FaultServer() as server:
            watcher = spool.start("--url", server.url, "--watch")
            server.await_requests(2)
            self.addCleanup(watcher.communicate)
            self.addCleanup(watcher.kill)

            def spent():
                with open(f"/proc/{watcher.pid}/stat", encoding="ascii") as file:
                    fields = file.read().rsplit(")", 1)[1].split()
                return int(fields[11]) + int(fields[12])

            for _ in range(20):  # until it is done with what it has sent
                before = spent()
                time.sleep(0.5)
                if spent() - before <= 1:
                    return
            self.fail("it spins")


class Progress(unittest.TestCase):
    def test_progress_is_shown_on_a_terminal_when_it_takes_long(self):
        def slow(connection, request):
            time.sleep(0.4)
            take(connection, request)
        with Spool(5) as spool, FaultServer(take, slow) as server:
            child, fd = pty.fork()
            if child == 0:
                os.execv(CRASHHOOK, spool.command("--url", server.url))
            seen = b""
            try:
                while more := os.read(fd, 4096):
                    seen += more
            except OSError:
                pass
            os.waitpid(child, 0)
            os.close(fd)
            self.assertIn(b"of 5", seen)
            self.assertNotIn(b"sending report 1 of 5", seen)
            self.assertIn(b"\r\x1b[Kcrashhook: sent 5", seen)


class Damage(unittest.TestCase):
    def test_a_damaged_report_is_one_line_and_holds_nobody_up(self):
        with Spool(2) as spool, FaultServer() as server:
            with open(spool.file(spool.ids[0]), "w", encoding="utf-8") as file:
                file.write('{"schema":')
            done = spool.upload("--url", server.url)
            self.assertEqual(done.returncode, 1)
            self.assertEqual(done.stderr_text.count(f"cannot read report {spool.ids[0]}"), 1)
            self.assertEqual(server.ids(), spool.ids[1:])
            self.assertTrue(os.path.exists(spool.file(spool.ids[0])))

    def test_links_and_fifos_among_the_reports_are_one_line_each(self):
        with Spool(1) as spool, FaultServer() as server:
            os.symlink("/etc/passwd", spool.file(report_id(7)))
            os.mkfifo(spool.file(report_id(8)))
            done = spool.upload("--url", server.url)
            self.assertEqual(done.returncode, 1)
            self.assertIn("it is a symbolic link", done.stderr_text)
            self.assertIn("it is not a plain file", done.stderr_text)
            self.assertEqual(server.ids(), spool.ids)

    def test_a_report_under_another_ones_name_is_not_sent(self):
        with Spool(1) as spool, FaultServer() as server:
            os.rename(spool.file(spool.ids[0]), spool.file(report_id(9)))
            done = spool.upload("--url", server.url)
            self.assertIn("its id is another one", done.stderr_text)
            self.assertEqual(server.requests, [])

    def test_a_damaged_state_starts_anew(self):
        with Spool(1) as spool, FaultServer() as server:
            with open(spool.file(spool.ids[0], ".state"), "w", encoding="utf-8") as file:
                file.write("nonsense")
            done = spool.upload("--url", server.url)
            self.assertEqual(done.returncode, 0)
            self.assertIn("cannot understand the upload state", done.stderr_text)
            self.assertEqual(server.ids(), spool.ids)

    @unittest.skipUnless(os.geteuid() == 0, "not root")
    def test_a_spool_of_another_user_is_refused(self):
        with Spool(1) as spool, FaultServer() as server:
            os.chown(spool.path, 12345, 12345)
            done = spool.upload("--url", server.url)
            self.assertEqual(done.returncode, 1)
            self.assertIn("it belongs to another user", done.stderr_text)
            self.assertEqual(server.requests, [])

    def mounted(self, spool, options):
        path = os.path.join(spool.folder, "disk")
        os.mkdir(path, 0o700)
        done = subprocess.run(["mount", "-t", "tmpfs", "-o", f"size=64k,mode=700{options}",
                               "none", path], check=False, stderr=subprocess.DEVNULL)
        if done.returncode != 0:
            self.skipTest("no right to mount")
        self.addCleanup(subprocess.run, ["umount", "-l", path], check=False)
        shutil.copy(spool.file(spool.ids[0]), path)
        spool.path = path
        return path

    def test_nothing_is_sent_that_could_not_be_noted(self):
        with Spool(1) as spool, FaultServer() as server:
            path = self.mounted(spool, "")
            subprocess.run(["mount", "-o", "remount,ro", path], check=True)
            done = spool.upload("--url", server.url)
            self.assertEqual(done.returncode, 1)
            self.assertIn("Read-only file system", done.stderr_text)
            self.assertEqual(server.requests, [])

    def test_a_full_disk_is_one_line_and_loses_nothing(self):
        with Spool(1) as spool, FaultServer() as server:
            path = self.mounted(spool, "")
            with open(os.path.join(path, "filler"), "wb", buffering=0) as file:
                try:
                    while True:
                        file.write(b"x" * 4096)
                except OSError:
                    pass
            done = spool.upload("--url", server.url)
            self.assertEqual(done.returncode, 1, done.stderr_text)
            self.assertIn("No space left on device", done.stderr_text)
            os.unlink(os.path.join(path, "filler"))
            done = spool.upload("--url", server.url)
            self.assertEqual(done.returncode, 0, done.stderr_text)


class Bounds(unittest.TestCase):
    def test_crashes_past_the_rate_are_counted_and_travel_later(self):
        with Spool(0) as spool, FaultServer() as server:
            base = 0x0193_0000_0000
            for number in range(5):
                stamp = f"{base + number:012x}"
                spool.add(number, identity=f"{stamp[:8]}-{stamp[8:]}-7788-99aa-"
                                           f"{number:012x}")
            done = spool.upload("--url", server.url, CRASHHOOK_RATE="2/1m")
            self.assertEqual(done.returncode, 0, done.stderr_text)
            self.assertIn("held back 3", done.stderr_text)
            self.assertEqual(server.ids(), spool.ids[:2])
            self.assertEqual(spool.state(spool.ids[4])[0]["state"], "skipped")
            spool.add(99)
            spool.upload("--url", server.url, CRASHHOOK_RATE="2/1m")
            self.assertEqual(server.requests[2].report()["spool"], {
                "held_back": 3,
                "held_back_by_fingerprint": {"33012e5da7cc796835a7cc63192a16d1": 3}})

    def test_the_count_arrives_although_no_other_crash_follows(self):
        with Spool(0) as spool, FaultServer() as server:
            now = int(time.time() * 1000)
            for number in range(6):
                stamp = f"{now + number:012x}"
                spool.add(number, identity=f"{stamp[:8]}-{stamp[8:]}-7788-99aa-"
                                           f"{number:012x}")
            watcher = spool.start("--url", server.url, "--watch", CRASHHOOK_RATE="2/3s")
            try:
                server.await_requests(3)
            finally:
                watcher.terminate()
                watcher.communicate(timeout=20)
            self.assertEqual(server.ids(), [*spool.ids[:2], spool.ids[5]])
            self.assertEqual(server.requests[2].report()["spool"]["held_back"], 3)
            self.assertEqual(spool.state(spool.ids[4])[0]["state"], "skipped")

    def test_the_spool_stays_within_its_caps(self):
        with Spool(5) as spool, FaultServer() as server:
            done = spool.upload("--url", server.url, CRASHHOOK_SPOOL_MAX="2,1M")
            self.assertEqual(done.returncode, 0, done.stderr_text)
            self.assertNotIn("deleted", done.stderr_text)
            left = sorted(n for n in os.listdir(spool.path) if n.endswith(".json")
                          and n != "counts.json")
            self.assertEqual(left, [i + ".json" for i in spool.ids[3:]])

    def test_old_reports_go_once_they_were_sent(self):
        with Spool(1) as spool, FaultServer(answer(503)) as server:
            limits = {"CRASHHOOK_SPOOL_MAX": "64,1M,1h"}
            spool.upload("--url", server.url, CRASHHOOK_TIMEOUT="900ms", **limits)
            self.assertTrue(os.path.exists(spool.file(spool.ids[0])))
            server.behaviours[:] = [take]
            done = spool.upload("--url", server.url, **limits)
            self.assertEqual((done.returncode, done.stderr_text),
                             (0, "crashhook: sent 1\n"))
            self.assertFalse(os.path.exists(spool.file(spool.ids[0])))

    def test_an_unsent_report_past_the_caps_goes_with_a_line(self):
        with Spool(3) as spool:
            done = spool.upload("--url", f"http://127.0.0.1:{closed_port()}",
                                CRASHHOOK_SPOOL_MAX="2,1M", CRASHHOOK_TIMEOUT="1s")
            self.assertIn(f"deleted report {spool.ids[0]}, which was not sent",
                          done.stderr_text)
            self.assertFalse(os.path.exists(spool.file(spool.ids[0])))
            self.assertTrue(os.path.exists(spool.file(spool.ids[1])))


if __name__ == "__main__":
    unittest.main(verbosity=2)
