# SPDX-License-Identifier: Apache-2.0
# cmake -DINPUT=FILE -DOUTPUT=FILE.c -DNAME=stem -DHEADER=FILE.h -P embed.cmake: a file as
# an array in C, its size, and a version made of its hash.
file(READ ${INPUT} digits HEX)
file(MD5 ${INPUT} hash)
string(SUBSTRING ${hash} 0 12 version)
string(REGEX REPLACE "([0-9a-f][0-9a-f])" "0x\\1," bytes "${digits}")
file(WRITE ${OUTPUT}
"#include \"${HEADER}\"

const unsigned char ${NAME}_bytes[] = { ${bytes} };
const size_t ${NAME}_size = sizeof(${NAME}_bytes);
const char ${NAME}_version[] = \"${version}\";
")
