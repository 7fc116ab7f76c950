// SPDX-License-Identifier: Apache-2.0
//
// Replaces sql_postgres.c in a build without libpq.
#include <stdio.h>

#include "collector/database/sql.h"

enum ch_status sql_postgres_open(const struct sql_options *options, const char *name,
                                 char error[SQL_ERROR_SIZE], struct sql **out)
{
    (void)options;
    (void)name;
    (void)out;
    snprintf(error, SQL_ERROR_SIZE, "this collector was built without PostgreSQL");
    return CH_ERR_UNSUPPORTED;
}
