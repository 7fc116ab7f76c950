# SPDX-License-Identifier: Apache-2.0
# cmake -DFOLDER=collector/store -DOUTPUT=FILE.c -P statements.cmake
#
# The table of statements as C, made of FOLDER/sql/*.sql; OUTPUT.sqlite.sql and
# OUTPUT.postgres.sql show the statements in full. FOLDER/schema/*.sql are added as they are.
#
#   -- name: X      begins the statement of the enumerator X of enum store_statement
#   -- part: X      begins a text that {X} stands for; in it @ is the Y of {X Y}
#   -- postgres:    begins the text for PostgreSQL, where it is another one
#   SQL  --: A !B   is left out unless the condition A holds and B does not
#   --: A !B {      begins lines of which that is true, `--: }` ends them
#   --: each L {    begins lines that are there for each term of the list L
#   :value          is a value of that name
#
# Other lines that begin with `--` are comments. {FACET_X} and {STORE_NEVER} are the
# numbers that C has under these names. Conditions, lists and values are enumerators of
# store_query.h, and keys those of store_filter.h: CLAUSE_A or STORE_KEY_A, LIST_L, VALUE_V.
# In the table they are numbers after one of the bytes of store_query.h.
cmake_minimum_required(VERSION 3.25)

foreach(header ../entry/store_facet.h store_schema.h)
    file(READ ${FOLDER}/${header} text)
    string(REGEX MATCHALL "[A-Z][A-Z0-9_]+ (= [0-9]+,|\"[0-9]+\")" numbers "${text}")
    foreach(number IN LISTS numbers)
        string(REGEX MATCH "^([A-Z0-9_]+)[^0-9]+([0-9]+)" number "${number}")
        set(part_${CMAKE_MATCH_1}_sqlite ${CMAKE_MATCH_2})
    endforeach()
endforeach()

# enumerators sets PREFIX_NAME to two digits for each enumerator of an enum in a header,
# from first on, and next to the number after the last.
function(enumerators header enum prefix first)
    file(READ ${FOLDER}/${header} text)
    string(REGEX MATCH "enum ${enum} {[^}]*}" text "${text}")
    string(REGEX REPLACE "//[^\n]*" "" text "${text}")
    string(REGEX MATCHALL "${prefix}_[A-Z0-9_]+" names "${text}")
    list(REMOVE_ITEM names ${prefix}_COUNT)
    math(EXPR number "100 + ${first}")
    foreach(name IN LISTS names)
        string(SUBSTRING ${number} 1 2 digits)
        string(REGEX REPLACE "^STORE_KEY" "CLAUSE" name ${name})
        set(number_${name} ${digits} PARENT_SCOPE)
        math(EXPR number "${number} + 1")
    endforeach()
    math(EXPR next "${number} - 100")
    set(next ${next} PARENT_SCOPE)
endfunction()
enumerators(store_filter.h store_key STORE_KEY 0)
enumerators(../query/store_query.h query_clause CLAUSE ${next})
enumerators(../query/store_query.h query_list LIST 0)
enumerators(../query/store_query.h query_value VALUE 0)

# add_line appends a line to the text that is being read, with what leaves it out.
macro(add_line line)
    set(added "${line}")
    if(added MATCHES "^(.*)--: ([^{}]+)$")
        string(STRIP "${CMAKE_MATCH_2}" condition)
        string(STRIP "${CMAKE_MATCH_1}" added)
        set(added "{if ${condition}}${added}{end}")
    endif()
    string(APPEND ${text} "${separator_${text}}${added}")
    set(separator_${text} "\n")
endmacro()

file(GLOB files RELATIVE ${FOLDER}/sql ${FOLDER}/sql/*.sql)
foreach(file IN LISTS files)
    file(STRINGS ${FOLDER}/sql/${file} lines)
    set(text)
    foreach(line IN LISTS lines)
        string(STRIP "${line}" line)
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
        elseif(line STREQUAL "--: }")
            add_line("{end}")
        elseif(line MATCHES "^--: (each .*[^ ]) {$")
            add_line("{${CMAKE_MATCH_1}}")
        elseif(line MATCHES "^--: (.*[^ ]) {$")
            add_line("{if ${CMAKE_MATCH_1}}")
        elseif(NOT line STREQUAL "" AND (line MATCHES "^--:" OR NOT line MATCHES "^--"))
            if(NOT text)
                message(FATAL_ERROR "${file}: SQL before the first `-- name: X`")
            endif()
            add_line("${line}")
        endif()
    endforeach()
endforeach()

# expand replaces {X} by the part X, which may have parts itself, and {X Y} by the part
# with Y in it.
function(expand name text dialect out)
    while(text MATCHES "{([A-Z][A-Z0-9_]*)( [^{}]*)?}")
        set(part ${CMAKE_MATCH_1})
        set(whole "${CMAKE_MATCH_0}")
        string(STRIP "${CMAKE_MATCH_2}" argument)
        if(dialect STREQUAL "postgres" AND DEFINED part_${part}_postgres)
            set(replaced "${part_${part}_postgres}")
        elseif(DEFINED part_${part}_sqlite)
            set(replaced "${part_${part}_sqlite}")
        else()
            message(FATAL_ERROR "statement ${name}: there is no part {${part}}")
        endif()
        string(REPLACE "@" "${argument}" replaced "${replaced}")
        string(REPLACE "${whole}" "${replaced}" text "${text}")
    endwhile()
    set(${out} "${text}" PARENT_SCOPE)
endfunction()

# number_of sets out to the digits of an enumerator.
function(number_of name kind word out)
    string(TOUPPER "${kind}_${word}" enumerator)
    if(NOT DEFINED number_${enumerator})
        message(FATAL_ERROR "statement ${name}: there is no ${enumerator}")
    endif()
    set(${out} ${number_${enumerator}} PARENT_SCOPE)
endfunction()

# encode replaces conditions, lists and values by numbers, and makes a string of C.
function(encode name text out)
    string(REPLACE "\\" "\\\\" text "${text}")
    string(REPLACE "\"" "\\\"" text "${text}")
    string(REPLACE "\n" " " text "${text}")
    while(text MATCHES "{if ([^{}]+)}")
        set(whole "${CMAKE_MATCH_0}")
        string(REPLACE " " ";" words "${CMAKE_MATCH_1}")
        set(code)
        foreach(word IN LISTS words)
            string(REGEX MATCH "^(!?)(.*)$" word ${word})
            set(negated ${CMAKE_MATCH_1})
            number_of(${name} clause ${CMAKE_MATCH_2} digits)
            string(APPEND code "${negated}${digits}")
        endforeach()
        string(REPLACE "${whole}" "\\001${code}\\002" text "${text}")
    endwhile()
    while(text MATCHES "{each ([a-z_]+)}")
        set(whole "${CMAKE_MATCH_0}")
        number_of(${name} list ${CMAKE_MATCH_1} digits)
        string(REPLACE "${whole}" "\\004${digits}" text "${text}")
    endwhile()
    while(text MATCHES ":([a-z][a-z_]*)")
        set(whole "${CMAKE_MATCH_0}")
        number_of(${name} value ${CMAKE_MATCH_1} digits)
        string(REGEX REPLACE "${whole}([^a-z_]|$)" "\\\\005${digits}\\1" text "${text}")
    endwhile()
    string(REPLACE "{end}" "\\003" text "${text}")
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
foreach(dialect sqlite postgres)
    set(shown_${dialect})
endforeach()
foreach(name IN LISTS names)
    if("${name_${name}_sqlite}" STREQUAL "")
        message(FATAL_ERROR "${name} of enum store_statement has no statement")
    endif()
    if(NOT DEFINED name_${name}_postgres)
        set(name_${name}_postgres "${name_${name}_sqlite}")
    endif()
    foreach(dialect sqlite postgres)
        expand(${name} "${name_${name}_${dialect}}" ${dialect} full)
        string(APPEND shown_${dialect} "-- ${name}\n${full}\n\n")
        encode(${name} "${full}" ${dialect})
    endforeach()
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

foreach(dialect sqlite postgres)
    file(WRITE ${OUTPUT}.${dialect}.sql "${shown_${dialect}}")
endforeach()
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
