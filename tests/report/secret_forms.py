# SPDX-License-Identifier: Apache-2.0
"""The forms in which secrets stand in texts, and texts that have none.

forms() makes each form with a secret of its own, from a seeded generator: a form is a
kind (`s` a string, `a` the arguments of a command line, `n` a name and its value), a
text, and the secrets in it.
"""
import base64
import json
import random
import string
import urllib.parse

PASSWORDS = ("hunter2", "S3cr3tQuay7", "correct-horse-battery", "Tr0ub4dor&3", "b4n4na5plit!",
             "letmein1", "qwErty99", "x9$Kd2mQ", "changeit", "4815162342")
# What has no other end than blanks must be free of the marks that end it.
PLAIN = tuple(p for p in PASSWORDS if p.isalnum() or "-" in p)
NAMES = ("password", "passwd", "Password", "PASSWORD", "db_password", "dbPassword", "DB_PASS",
         "DBPASS", "userPassword", "smtp-password", "spring.datasource.password", "passphrase",
         "secret", "client_secret", "clientSecret", "CLIENT_SECRET", "api_key", "apiKey",
         "API_KEY", "x-api-key", "access_token", "accessToken", "refresh_token", "auth_token",
         "AUTH_TOKEN", "GITHUB_TOKEN", "private_key", "AccountKey", "SharedAccessKey",
         "session_id", "PGPASSWORD", "MYSQL_PWD", "credentials", "AWS_SECRET_ACCESS_KEY",
         "AWS_SESSION_TOKEN", "encryption_key", "masterKey")
# Names that are sure only where something is set by them.
SET_NAMES = ("sig", "session", "sid", "X-Amz-Signature", "X-Goog-Signature", "signature",
             "pin", "otp", "token", "auth", "key", "PHPSESSID", "JSESSIONID", "csrf_token")
LETTERS = string.ascii_letters + string.digits


class Forms:
    """Collects forms, each with a secret that was made for it."""

    def __init__(self, seed):
        self.random = random.Random(seed)
        self.all = []

    def word(self, length, letters=LETTERS):
        while True:
            word = "".join(self.random.choice(letters) for _ in range(length))
            if letters is not LETTERS or (any(c.isdigit() for c in word) and not word.islower()):
                return word

    def password(self, plain=False):
        return self.random.choice(PLAIN if plain else PASSWORDS)

    def add(self, text, *secrets):
        self.all.append(("s", text, secrets))

    def arguments(self, arguments, *secrets):
        self.all.append(("a", "\x1f".join(arguments), secrets))

    def named(self, name, value):
        self.all.append(("n", name + "\x1f" + value, (value,)))


def settings(forms):
    """NAME and value in every notation."""
    for name in NAMES:
        for form in ('%s=%s', '%s = %s', '%s: %s', 'export %s=%s', 'set %s=%s ok', '--%s=%s',
                     '  - %s: %s', '%s := %s', '[main]\n%s=%s\nport=1\n', '?a=1&%s=%s&b=2'):
            secret = forms.password(plain=True)
            forms.add(form % (name, secret), secret)
        for form in ('{"%s": "%s"}', '{"user":"bob","%s":"%s","port":1}', "{'%s': '%s'}",
                     '{\\"%s\\": \\"%s\\"}', '%s = "%s"', '"%s" => "%s"', "['%s'] = '%s'",
                     '<%s>%s</%s>', 'POST failed: {"a":1, "%s" : "%s"}', '%%22%s%%22%%3A%%22%s%%22',
                     '%s="%s" other="1"', "env %s='%s' ./app", '{"name":"%s","value":"%s"}',
                     '&quot;%s&quot;:&quot;%s&quot;'):
            secret = forms.password(plain="%%" in form)
            fill = (name, secret, name) if form.startswith("<") else (name, secret)
            forms.add(form % fill, secret)
        forms.named(name, forms.password())
    for name in SET_NAMES:
        for form in ('%s=%s', 'https://h/p?%s=%s', 'a=1&%s=%s', 'cookie set: %s=%s;', 'x %s=%s, y'):
            secret = forms.word(12)
            forms.add(form % (name, secret), secret)
        secret = forms.word(14)
        forms.add(json.dumps({"a": 1, name: secret}), secret)


def headers(forms):
    for form in ("Authorization: Bearer %s", "authorization: bearer %s", "Proxy-Authorization: %s",
                 "Bearer %s", "sent Bearer %s to h", "X-Auth-Token: %s", "X-Api-Key: %s",
                 "Cookie: a=%s; b=2", "Set-Cookie: session=%s; HttpOnly", "X-CSRF-Token: %s",
                 "GET / HTTP/1.1\r\nHost: h\r\nAuthorization: Token %s\r\nAccept: */*\r\n",
                 "curl -H 'Authorization: Bearer %s' https://h/", 'headers={"Authorization": "%s"}',
                 "Authorization: Digest username=\"bob\", response=\"%s\"", "X-Amz-Security-Token: %s",
                 "Ocp-Apim-Subscription-Key: %s", "PRIVATE-TOKEN: %s", "X-Vault-Token: %s",
                 "Authorization: AWS4-HMAC-SHA256 Credential=a/b, Signature=%s"):
        for length in (12, 24, 40):
            secret = forms.word(length)
            forms.add(form % secret, secret)
    for _ in range(4):
        login = "bob:" + forms.word(10)
        coded = base64.b64encode(login.encode()).decode()
        forms.add("Authorization: Basic " + coded, coded)
        forms.add("sent header Authorization: Basic %s to h" % coded, coded)


def addresses(forms):
    """URLs and DSNs."""
    for scheme in ("https", "postgres", "postgresql+psycopg2", "mysql", "mongodb+srv", "mongodb",
                   "redis", "rediss", "amqp", "amqps", "mssql", "sqlserver", "clickhouse", "ftp",
                   "sftp", "ldap", "ldaps", "smtp", "smtps", "imap", "bolt", "neo4j+s", "nats",
                   "couchbase", "cassandra", "oracle", "snowflake", "kafka", "socks5", "rtsp",
                   "jdbc:postgresql", "influxdb", "http"):
        for form in ("%s://bob:%s@db.example.org:5432/app", "cannot connect to %s://bob:%s@h/x: refused",
                     '{"url":"%s://bob:%s@h/x"}'):
            secret = forms.password(plain=True)
            forms.add(form % (scheme, secret), secret)
        secret = forms.password(plain=True)
        forms.add("%s://:%s@10.0.0.7:6379/0" % (scheme, secret), secret)
        secret = forms.password(plain=True)
        forms.add("%s://h/d?user=u&password=%s" % (scheme, secret), secret)
    for form in ("host=db user=u password=%s dbname=d", "host=db password = %s", "bob:%s@tcp(h:3306)/db",
                 "host=db password='%s' port=5432", "Server=h;User Id=u;Password=%s;", "Uid=u;Pwd=%s;",
                 "Driver={X};Server=h;UID=u;PWD={%s};", "h:6379,password=%s,ssl=True",
                 "jdbc:mysql://h/d?user=u&password=%s", "jdbc:sqlserver://h;user=u;password=%s;x=1",
                 "Data Source=h;Password=%s", "bob:%s@unix(/run/my.sock)/db",
                 "cannot open bob:%s@tcp(db:3306)/shop", "scram user=u secret=%s",
                 "jdbc:oracle:thin:bob/%s@//h:1521/x", "user=u;AccessKey=%s;x"):
        for _ in range(3):
            secret = forms.password(plain=True)
            forms.add(form % secret, secret)
    key = base64.b64encode(bytes(forms.random.randrange(256) for _ in range(64))).decode()
    forms.add("DefaultEndpointsProtocol=https;AccountName=a;AccountKey=%s;EndpointSuffix=x" % key, key)
    forms.add("Endpoint=sb://h/;SharedAccessKeyName=n;SharedAccessKey=%s" % key, key)
    secret = forms.word(43)
    forms.add("https://a.blob.core.windows.net/c/b?sv=2022&sp=r&sig=%s%%3D" % secret, secret)
    secret = forms.word(64, "0123456789abcdef")
    forms.add("https://s3/x?X-Amz-Expires=60&X-Amz-Signature=%s&a=b" % secret, secret)
    forms.add("r=" + urllib.parse.quote("https://h/?token=%s&x=1" % secret, safe=""), secret)


def keys(forms):
    """What services mark."""
    upper = string.ascii_uppercase + string.digits
    hexes = "0123456789abcdef"
    marked = [("AKIA", 16, upper), ("ASIA", 16, upper), ("AIza", 35, LETTERS), ("ya29.", 60, LETTERS),
              ("GOCSPX-", 28, LETTERS), ("ghp_", 36, LETTERS), ("gho_", 36, LETTERS),
              ("ghs_", 36, LETTERS), ("ghr_", 36, LETTERS), ("github_pat_", 60, LETTERS),
              ("glpat-", 20, LETTERS), ("gldt-", 20, LETTERS), ("xoxb-", 40, LETTERS),
              ("xoxp-", 40, LETTERS), ("xoxe-", 40, LETTERS), ("xoxe.xoxp-1-", 40, LETTERS),
              ("xapp-1-", 40, LETTERS), ("sk_live_", 24, LETTERS), ("rk_live_", 24, LETTERS),
              ("whsec_", 32, LETTERS), ("SG.", 60, LETTERS), ("sk-", 48, LETTERS),
              ("sk-proj-", 48, LETTERS), ("npm_", 36, LETTERS), ("pypi-AgEI", 60, LETTERS),
              ("dop_v1_", 64, hexes), ("hf_", 34, LETTERS), ("shpat_", 32, hexes),
              ("sq0atp-", 22, LETTERS), ("hvs.", 40, LETTERS), ("dapi", 32, hexes),
              ("NRAK-", 27, upper), ("PMAK-", 58, hexes), ("lin_api_", 40, LETTERS),
              ("glsa_", 40, LETTERS), ("dckr_pat_", 27, LETTERS), ("key-", 32, hexes),
              ("SK", 32, hexes), ("ATATT3x", 60, LETTERS), ("AGE-SECRET-KEY-1", 58, upper),
              ("hooks.slack.com/services/T0/B0/", 24, LETTERS),
              ("api.telegram.org/bot123456:", 35, LETTERS), ("", 40, LETTERS)]
    for mark, length, letters in marked:
        for form in ("%s", "key is %s.", '["%s"]', "used (%s) twice", "value=%s;", "/x/%s/y"):
            secret = forms.word(length, letters)
            forms.add(form % (mark + secret), secret)
    for _ in range(6):
        parts = [base64.urlsafe_b64encode(json.dumps({"a": forms.word(n)}).encode()).decode().rstrip("=")
                 for n in (20, 60)] + [forms.word(43)]
        forms.add("jwt " + ".".join(parts) + " rejected", *parts)
    for _ in range(12):
        secret = base64.b64encode(bytes(forms.random.randrange(256) for _ in range(30))).decode()
        forms.add("random %s here" % secret, secret)


def pem(forms):
    for kind in ("RSA ", "EC ", "", "OPENSSH ", "ENCRYPTED ", "DSA "):
        lines = [base64.b64encode(bytes(forms.random.randrange(256) for _ in range(48))).decode()
                 for _ in range(4)]
        head, end = "-----BEGIN %sPRIVATE KEY-----" % kind, "-----END %sPRIVATE KEY-----" % kind
        for form in ("%s", "key: |\n  %s", "cannot parse '%s'", "%s\nafter"):
            forms.add(form % "\n".join([head, *lines, end]), *lines)
        forms.add("\n".join([head, *lines]), *lines)
        forms.add(head + "\n" + lines[0][:20], lines[0][:20])
        forms.add(json.dumps({"text": "\n".join([head, *lines, end])}), *lines)
        forms.add("\n".join(lines), *lines)


def command_lines(forms):
    for option in ("--password", "--passwd", "--pass", "--passphrase", "--token", "--otp", "--pin",
                   "--api-key", "--apikey", "--secret", "--client-secret", "--auth-token", "--pw",
                   "-password", "--db-password", "--accessToken", "--private-key", "--mfa-code",
                   "--session", "--cookie", "--credentials", "--bearer", "--sig"):
        secret = forms.password()
        forms.arguments(["app", "-v", option, secret, "x"], secret)
        secret = forms.password()
        forms.arguments(["app", option + "=" + secret], secret)
        secret = forms.password(plain=True)
        forms.add("exec failed: app %s %s -x" % (option, secret), secret)
    for secret in ("hunter2", "S3cret", "PASS99", "x9$Kd2mQ", "letmein1", "Changeit"):
        forms.arguments(["app", "-p" + secret, "db"], secret)
        forms.arguments(["/usr/bin/mysql", "-u", "root", "-p" + secret], secret)
        forms.arguments(["app", "-ubob:" + secret], secret)
        forms.arguments(["curl", "-u", "bob:" + secret, "https://h/"], secret)
        forms.arguments(["curl", "--user", "bob:" + secret], secret)
        forms.arguments(["curl", "--user=bob:" + secret], secret)
        forms.arguments(["sshpass", "-p", secret, "ssh", "h"], secret)
        forms.arguments(["redis-cli", "-a", secret, "ping"], secret)
        forms.arguments(["ldapsearch", "-x", "-w", secret], secret)
        forms.arguments(["sqlcmd", "-P", secret], secret)
        forms.arguments(["mongosh", "-u", "bob", "-p", secret], secret)
        forms.arguments(["smbclient", "-U", "bob%" + secret], secret)
        forms.arguments(["openssl", "rsa", "-passin", "pass:" + secret], secret)
        forms.arguments(["xfreerdp", "/v:h", "/p:" + secret], secret)
        forms.arguments(["java", "-Djavax.net.ssl.keyStorePassword=" + secret, "-jar", "x"], secret)
        forms.arguments(["curl", "-H", "X-Api-Key: " + secret], secret)
        forms.arguments(["curl", "-d", json.dumps({"password": secret})], secret)
        forms.arguments(["docker", "run", "-e", "DB_PASSWORD=" + secret, "x"], secret)
        forms.arguments(["terraform", "-var", "db_password=" + secret], secret)
        forms.arguments(["env", "PGPASSWORD=" + secret, "psql"], secret)


def files(forms):
    for form in ("machine h login bob password %s", "requirepass %s", "CREATE USER 'a' IDENTIFIED BY '%s'",
                 "ALTER ROLE a PASSWORD '%s'", "SET PASSWORD = PASSWORD('%s')", 'password "%s"',
                 "- name: DB_PASSWORD\n  value: %s\n", '<add key="dbPassword" value="%s"/>',
                 'Content-Disposition: form-data; name="password"\r\n\r\n%s\r\n--b--',
                 "password:\t%s", "wrong password: %s", "unable to log in with password=%s.",
                 "(password=%s)", "{password=%s}", "password='%s'", "login(user=bob, password=%s)",
                 "Config{user=bob, apiKey=%s}", "password\t=\t%s", "mysql -uroot -p%s db",
                 "curl -u bob:%s https://h/"):
        for _ in range(3):
            secret = forms.random.choice(("hunter2", "S3cr3tQuay7", "letmein1", "qwErty99"))
            forms.add(form % secret, secret)


def forms(seed):
    made = Forms(seed)
    for make in (settings, headers, addresses, keys, pem, command_lines, files):
        make(made)
    return made.all


# What once was left, one form each.
LISTED = (
    ("s", '{"user":"bob","password": "%s"}'), ("s", "password = %s"), ("s", "Bearer %s"),
    ("s", "https://h/?sig=%s"), ("s", "https://h/?X-Amz-Signature=%s"), ("s", "session=%s"),
    ("s", "DBPASS=%s"), ("s", "AccountKey=%s"), ("s", "xoxe-1-%s"), ("a", "app\x1f-p%s"),
    ("a", "app\x1f-uUSER:%s"), ("a", "app\x1f--otp\x1f%s"), ("a", "app\x1f--password\x1f%s"),
    ("s", "-----BEGIN RSA PRIVATE KEY-----\n%s"), ("s", '{"api_key":"%s"}'),
    ("s", "Authorization: Bearer %s"), ("n", "password\x1f%s"), ("n", "session\x1f%s"),
    ("s", "cannot read conf:   - GITHUB_TOKEN: %s"), ("a", "app\x1fDBPASS=%s"), ("s", "{\\\"password\\\": \\\"%s\\\"}"),
    ("s", '{"password":{"value":"%s"}}'), ("s", "user[password]=%s&x=1"), ("s", "user%%5Bpassword%%5D=%s&x=1"),
    ("s", "<wsse:Password>%s</wsse:Password>"), ("s", 'Login { password: Some("%s") }'), ("s", 'ssid="home" psk="%s"'),
    ("s", "db:\n  password: >-\n    %s\n  port: 1\n"), ("s", "<password>%s</password>"),
)
