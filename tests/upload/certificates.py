# SPDX-License-Identifier: Apache-2.0
#
# Certificates of servers on this machine that nobody vouches for.

import os
import ssl
import subprocess


def validity(days):
    """What tells openssl so. Later than 3.3, it wants a certificate's end by its date
    where that is past, for which there was no option before."""
    known = subprocess.run(["openssl", "x509", "-help"], stdout=subprocess.PIPE,
                           stderr=subprocess.STDOUT, text=True, check=False).stdout
    if days < 0 and "-not_after" in known:
        return ["-not_before", "20200101000000Z", "-not_after", "20200102000000Z"]
    return ["-days", str(days)]


def make_certificate(folder, days=1):
    """A server's context and the certificate it shows, which ends so many days on."""
    key, request, certificate, names = (
        os.path.join(folder, f"{days}.{kind}") for kind in ("key", "csr", "crt", "txt"))
    with open(names, "w", encoding="ascii") as file:
        file.write("subjectAltName=IP:127.0.0.1\n")
    for command in (["req", "-newkey", "rsa:2048", "-nodes", "-keyout", key, "-out",
                     request, "-subj", "/CN=127.0.0.1"],
                    ["x509", "-req", "-in", request, "-signkey", key, *validity(days),
                     "-extfile", names, "-out", certificate]):
        subprocess.run(["openssl", *command], check=True, stderr=subprocess.DEVNULL)
    tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    tls.load_cert_chain(certificate, key)
    return tls, certificate
