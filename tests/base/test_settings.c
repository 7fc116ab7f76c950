// SPDX-License-Identifier: Apache-2.0
#include "base/settings/settings.h"

#include "shared/signals.h"
#include "support/test.h"

struct fake_environment {
    const char *name;
    const char *value;
    const char *complained;
    const char *accepted;
};

static const char *get(void *context, const char *variable)
{
    const struct fake_environment *environment = context;
    return environment->name != NULL && strcmp(environment->name, variable) == 0
               ? environment->value
               : NULL;
}

static void complain(void *context, const char *variable, const char *value,
                     const char *accepted)
{
    struct fake_environment *environment = context;
    (void)value;
    environment->complained = variable;
    environment->accepted = accepted;
}

static void settings_have_the_documented_defaults(void **state)
{
    (void)state;
    struct fake_environment none = { 0 };
    struct settings s;
    settings_read(&s, get, complain, &none);

    assert_null(none.complained);
    assert_int_equal(s.enable, SETTING_YES);
    assert_int_equal(s.limit, 64);
    assert_int_equal(s.top, 16);
    assert_int_equal(s.timeout_ms, 30000);
    assert_int_equal(s.spool_max_reports, 64);
    assert_int_equal(s.spool_max_bytes, 256 << 20);
    assert_int_equal(s.rate_count, 10);
    assert_int_equal(s.rate_ms, 60000);
    assert_int_equal(s.symbolize, SYMBOLIZE_FULL);
    assert_int_equal(s.print, SETTING_TTY);
    assert_int_equal(s.sanitize, SETTING_YES);
    assert_int_equal(s.flight_bytes, 0);
    assert_true(s.signals & UINT64_C(1) << SIGSEGV);
    assert_true(s.signals & UINT64_C(1) << SIGSYS);
    assert_false(s.signals & UINT64_C(1) << SIGQUIT);
}

static void settings_read_each_kind_of_value(void **state)
{
    (void)state;
    struct settings s;
    settings_read(&s, get, NULL,
                  &(struct fake_environment){ "CRASHHOOK_LIMIT", "none", 0, 0 });
    assert_int_equal(s.limit, SETTING_NO_LIMIT);
    settings_read(&s, get, NULL,
                  &(struct fake_environment){ "CRASHHOOK_TOP", "0", 0, 0 });
    assert_int_equal(s.top, 0);
    settings_read(&s, get, NULL,
                  &(struct fake_environment){ "CRASHHOOK_TIMEOUT", "2m", 0, 0 });
    assert_int_equal(s.timeout_ms, 120000);
    settings_read(
        &s, get, NULL,
        &(struct fake_environment){ "CRASHHOOK_SPOOL_MAX", "9,1K,30d", 0, 0 });
    assert_int_equal(s.spool_max_reports, 9);
    assert_int_equal(s.spool_max_bytes, 1024);
    assert_int_equal(s.spool_max_age_s, 30 * 86400);
    settings_read(&s, get, NULL,
                  &(struct fake_environment){ "CRASHHOOK_FLIGHT", "64K", 0, 0 });
    assert_int_equal(s.flight_bytes, 65536);
    settings_read(
        &s, get, NULL,
        &(struct fake_environment){ "CRASHHOOK_SIGNALS", "SEGV,SIGQUIT", 0, 0 });
    assert_true(s.signals == (UINT64_C(1) << SIGSEGV | UINT64_C(1) << SIGQUIT));
    settings_read(&s, get, NULL,
                  &(struct fake_environment){ "CRASHHOOK_UNWIND", "fp", 0, 0 });
    assert_int_equal(s.unwind, SETTING_UNWIND_FP);
    static const char urls[] = " nonsense  sentry+https://k@c/1 ";
    settings_read(&s, get, NULL,
                  &(struct fake_environment){ "CRASHHOOK_URL", urls, 0, 0 });
    assert_ptr_equal(s.url, urls);
}

static void settings_complain_once_and_keep_the_default(void **state)
{
    (void)state;
    static const char *const bad[][2] = {
        { "CRASHHOOK_LIMIT", "0" },
        { "CRASHHOOK_LIMIT", "12x" },
        { "CRASHHOOK_LIMIT", "99999999999999999999" },
        { "CRASHHOOK_TIMEOUT", "30" },
        { "CRASHHOOK_TIMEOUT", "0s" },
        { "CRASHHOOK_SIGNALS", "SEGV,KILL" },
        { "CRASHHOOK_SIGNALS", "SEGV," },
        { "CRASHHOOK_SPOOL_MAX", "64" },
        { "CRASHHOOK_SPOOL_MAX", "64,256M," },
        { "CRASHHOOK_SPOOL_MAX", "64,256M,0d" },
        { "CRASHHOOK_SPOOL_MAX", "64,256M,30" },
        { "CRASHHOOK_SPOOL_MAX", "64,256M,30d,1" },
        { "CRASHHOOK_RATE", "10" },
        { "CRASHHOOK_UNWIND", "magic" },
        { "CRASHHOOK_TAGS", "novalue" },
        { "CRASHHOOK_ENABLE", "YES!" },
        { "CRASHHOOK_ENABLE", "or" },
        { "CRASHHOOK_ENABLE", "no, yes" },
        { "CRASHHOOK_THREADS", "all or crashed" },
        { "CRASHHOOK_FLIGHT", "64Q" },
        { "CRASHHOOK_SANITIZE", "tty" },
        { "CRASHHOOK_URL", "ftp://host" },
        { "CRASHHOOK_URL", "host:8765 ftp://host" },
    };
    struct settings defaults;
    settings_read(&defaults, get, NULL, &(struct fake_environment){ 0 });
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        struct fake_environment environment = { bad[i][0], bad[i][1], NULL, NULL };
        struct settings s;
        settings_read(&s, get, complain, &environment);
        assert_non_null(environment.complained);
        assert_string_equal(environment.complained, bad[i][0]);
        assert_non_null(environment.accepted);
        assert_memory_equal(&s, &defaults, sizeof(s));
    }
}

static void settings_treat_an_empty_variable_as_unset(void **state)
{
    (void)state;
    struct fake_environment environment = { "CRASHHOOK_LIMIT", "", NULL, NULL };
    struct settings s;
    settings_read(&s, get, complain, &environment);
    assert_null(environment.complained);
    assert_int_equal(s.limit, 64);
}

static void settings_spool_path_prefers_the_variable(void **state)
{
    (void)state;
    struct settings s = { .spool = "/some/where" };
    char path[32];
    assert_int_equal(settings_spool_path(&s, get, &(struct fake_environment){ 0 }, path,
                                         sizeof(path)),
                     CH_OK);
    assert_string_equal(path, "/some/where");
    assert_int_equal(
        settings_spool_path(&s, get, &(struct fake_environment){ 0 }, path, 5),
        CH_ERR_LIMIT);
}

static void settings_list_every_variable_once(void **state)
{
    (void)state;
    size_t count;
    const struct settings_variable *variables = settings_variables(&count);
    assert_int_equal(count, 48);
    for (size_t i = 0; i < count; i++) {
        assert_non_null(variables[i].help);
        for (size_t k = 0; k < i; k++)
            assert_string_not_equal(variables[i].name, variables[k].name);
    }
}

static void settings_take_every_signal_that_can_be_a_crash(void **state)
{
    (void)state;
    char word[SIGNAL_WORD_SIZE];
    for (int number = 1; number < SIGNALS_END; number++) {
        if (!signal_in(SIGNALS_CRASH, number))
            continue;
        memcpy(word, signal_words[number], sizeof(word));
        struct fake_environment environment = { "CRASHHOOK_SIGNALS", word, NULL, NULL };
        struct settings s;
        settings_read(&s, get, complain, &environment);
        assert_null(environment.complained);
        assert_true(s.signals == UINT64_C(1) << number);
    }
}

static void settings_name_the_signals_that_they_take(void **state)
{
    (void)state;
    struct fake_environment environment = { "CRASHHOOK_SIGNALS", "KILL", NULL, NULL };
    struct settings s;
    settings_read(&s, get, complain, &environment);
    assert_string_equal(
        environment.accepted,
        "names, by commas: SEGV BUS ILL FPE ABRT TRAP SYS QUIT XCPU XFSZ");
}

static void settings_know_which_values_are_paths(void **state)
{
    (void)state;
    size_t count;
    const struct settings_variable *variables = settings_variables(&count);
    struct settings s = {
        .spool = "spool", .log = "stderr", .output = "stdout", .release = "text"
    };
    size_t paths = 0;
    for (size_t i = 0; i < count; i++) {
        const char *path = settings_path(&s, &variables[i]);
        paths += path != NULL;
        assert_true(path == NULL || strcmp(path, "spool") == 0);
    }
    assert_int_equal(paths, 1);
}

static bool only_stderr_is_terminal(int fd)
{
    return fd == 2;
}

static bool nothing_is_terminal(int fd)
{
    (void)fd;
    return false;
}

static void settings_keep_the_files_that_are_printed_on(void **state)
{
    (void)state;
    static const struct {
        struct settings settings;
        uint32_t on_terminal;
        uint32_t elsewhere;
    } cases[] = {
        { { .print = SETTING_TTY }, 4, 0 },
        { { .print = SETTING_YES }, 4, 4 },
        { { .print = SETTING_NO, .output = "stdout" }, 0, 0 },
        { { .print = SETTING_TTY, .output = "stdout" }, 2, 2 },
        { { .print = SETTING_TTY, .output = "stderr" }, 4, 4 },
        { { .print = SETTING_TTY, .output = "/file" }, 0, 0 },
        { { .print = SETTING_TTY, .output = "stdout", .log = "stderr" }, 6, 6 },
        { { .print = SETTING_NO, .interactive = SETTING_YES }, 4, 0 },
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        const struct settings *s = &cases[i].settings;
        assert_int_equal(settings_kept_files(s, only_stderr_is_terminal),
                         cases[i].on_terminal);
        assert_int_equal(settings_kept_files(s, nothing_is_terminal),
                         cases[i].elsewhere);
    }
}

static void settings_are_not_complained_of_without_warnings(void **state)
{
    (void)state;
    struct fake_environment environment = { "CRASHHOOK_WARNINGS", "no", NULL, NULL };
    struct settings s;
    settings_read(&s, get, complain, &environment);
    assert_int_equal(s.warnings, SETTING_NO);
    environment.value = "perhaps"; // which is no reason not to complain
    settings_read(&s, get, complain, &environment);
    assert_string_equal(environment.complained, "CRASHHOOK_WARNINGS");
    assert_int_equal(s.warnings, SETTING_YES);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(settings_keep_the_files_that_are_printed_on),
        cmocka_unit_test(settings_are_not_complained_of_without_warnings),
        cmocka_unit_test(settings_have_the_documented_defaults),
        cmocka_unit_test(settings_read_each_kind_of_value),
        cmocka_unit_test(settings_complain_once_and_keep_the_default),
        cmocka_unit_test(settings_treat_an_empty_variable_as_unset),
        cmocka_unit_test(settings_spool_path_prefers_the_variable),
        cmocka_unit_test(settings_list_every_variable_once),
        cmocka_unit_test(settings_take_every_signal_that_can_be_a_crash),
        cmocka_unit_test(settings_name_the_signals_that_they_take),
        cmocka_unit_test(settings_know_which_values_are_paths),
    };
    return cmocka_run_group_tests_name("base/settings", tests, NULL, NULL);
}
