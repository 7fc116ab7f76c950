# SPDX-License-Identifier: Apache-2.0
# cmake -DFOLDER=collector/store -DOUTPUT=FILE.c -P statements.cmake
#
# The table of statements as C, made of FOLDER/sql/*.sql. `-- name: X` begins the
# statement of the enumerator X of enum store_statement, `-- part: X` a text that {X}
# stands for in others; `-- postgres:` begins the text for PostgreSQL where it is another
# one. Other lines that begin with `--` are comments. {FACET_X} and {STORE_NEVER} are the
# numbers that C has under these names. FOLDER/schema/*.sql are added as they are.
cmake_minimum_required(VERSION 3.25)

foreach(header store_facet.h store_schema.h)
    file(READ ${FOLDER}/${header} text)
    string(REGEX MATCHALL "[A-Z][A-Z0-9_]+ (= [0-9]+,|\"[0-9]+\")" numbers "${text}")
    foreach(number IN LISTS numbers)
        string(REGEX MATCH "^([A-Z0-9_]+)[^0-9]+([0-9]+)" number "${number}")
        set(part_${CMAKE_MATCH_1}_sqlite ${CMAKE_MATCH_2})
    endforeach()
endforeach()

file(GLOB files RELATIVE ${FOLDER}/sql ${FOLDER}/sql/*.sql)
foreach(file IN LISTS files)
    file(STRINGS ${FOLDER}/sql/${file} lines)
    set(text)
    foreach(line IN LISTS lines)
        if(line MATCHES "^-- (name|part): ([A-Z0-9_]+)$")
            set(kind ${CMAKE_MATCH_1})
            set(name ${CMAKE_MATCH_2})
            set(text ${kind}_${name}_sqlite)
            if(DEFINED ${text})
                message(FATAL_ERROR "${file}: ${name} is there twice")
            endif()
            if(kind STREQUAL "name")
                list(APPEND statements ${name})
            endif()
        elseif(line STREQUAL "-- postgres:")
            set(text ${kind}_${name}_postgres)
        elseif(NOT line MATCHES "^ *(--|$)")
            if(NOT text)
                message(FATAL_ERROR "${file}: SQL before the first `-- name: X`")
            endif()
            string(STRIP "${line}" line)
            string(APPEND ${text} "${separator_${text}}${line}")
            set(separator_${text} " ")
        endif()
    endforeach()
endforeach()

# expand replaces {X} by the part X, which may have parts itself.
function(expand name text dialect out)
    while(text MATCHES "{([A-Za-z0-9_]+)}")
        set(part ${CMAKE_MATCH_1})
        if(dialect STREQUAL "postgres" AND DEFINED part_${part}_postgres)
            set(replaced "${part_${part}_postgres}")
        elseif(DEFINED part_${part}_sqlite)
            set(replaced "${part_${part}_sqlite}")
        else()
            message(FATAL_ERROR "statement ${name}: there is no part {${part}}")
        endif()
        string(REPLACE "{${part}}" "${replaced}" text "${text}")
    endwhile()
    string(REPLACE "\\" "\\\\" text "${text}")
    string(REPLACE "\"" "\\\"" text "${text}")
    set(${out} "${text}" PARENT_SCOPE)
endfunction()

file(READ ${FOLDER}/store_statement.h text)
string(REGEX MATCH "enum store_statement {[^}]*}" text "${text}")
string(REGEX REPLACE "//[^\n]*" "" text "${text}")
string(REGEX MATCHALL "STORE_[A-Z0-9_]+" names "${text}")
list(REMOVE_ITEM names STORE_STATEMENT_COUNT)
foreach(name IN LISTS statements)
    if(NOT name IN_LIST names)
        message(FATAL_ERROR "statement ${name} is not in enum store_statement")
    endif()
endforeach()

set(rows)
foreach(name IN LISTS names)
    if("${name_${name}_sqlite}" STREQUAL "")
        message(FATAL_ERROR "${name} of enum store_statement has no statement")
    endif()
    if(NOT DEFINED name_${name}_postgres)
        set(name_${name}_postgres "${name_${name}_sqlite}")
    endif()
    expand(${name} "${name_${name}_sqlite}" sqlite sqlite)
    expand(${name} "${name_${name}_postgres}" postgres postgres)
    if(sqlite STREQUAL postgres)
        string(APPEND rows "    [${name}] = { \"${sqlite}\", NULL },\n")
    else()
        string(APPEND rows
               "    [${name}] = { \"${sqlite}\",\n        \"${postgres}\" },\n")
    endif()
endforeach()
# schema sets out to the file FOLDER/schema/NAME.sql as a string of C.
function(schema name out)
    file(READ ${FOLDER}/schema/${name}.sql text)
    string(REPLACE "\\" "\\\\" text "${text}")
    string(REPLACE "\"" "\\\"" text "${text}")
    string(REPLACE "\n" "\\n\"\n        \"" text "${text}")
    set(${out} "\"${text}\"" PARENT_SCOPE)
endfunction()
schema(sqlite sqlite_new)
schema(postgresql postgres_new)
schema(sqlite_from_18 sqlite_upgrade)
schema(postgresql_from_18 postgres_upgrade)

file(WRITE ${OUTPUT}
"#include \"collector/store/store_schema.h\"
#include \"collector/store/store_statement.h\"

const struct sql_statement store_statements[STORE_STATEMENT_COUNT] = {
${rows}};

_Static_assert((int)STORE_STATEMENT_COUNT <= (int)SQL_STATEMENTS,
               \"drivers have room for each\");

const char *const store_schema_new[] = {
    [SQL_SQLITE] = ${sqlite_new},
    [SQL_POSTGRES] = ${postgres_new} };
const char *const store_schema_upgrade[] = {
    [SQL_SQLITE] = ${sqlite_upgrade},
    [SQL_POSTGRES] = ${postgres_upgrade} };
")
