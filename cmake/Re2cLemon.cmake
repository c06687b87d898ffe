# SPDX-License-Identifier: Apache-2.0
# Scanners from re2c and parsers from Lemon. Each function appends the C file that it makes to the list named OUT; the
# files are our own code as far as the dialect goes, but the templates' warnings are not ours to mend.

find_program(RE2C re2c)
find_program(LEMON lemon)
find_file(LEMON_TEMPLATE lempar.c PATHS /usr/share/lemon /usr/local/share/lemon NO_DEFAULT_PATH)

set(RILL_GENERATED_OPTIONS -Wno-unused-parameter -Wno-unused-variable -Wno-unused-function -Wno-unused-but-set-variable
  -Wno-conversion -Wno-sign-conversion -Wno-sign-compare -Wno-shadow -Wno-missing-prototypes -Wno-type-limits
  -Wno-implicit-fallthrough)

# rill_re2c(OUT INPUT): INPUT x/name.re becomes <build>/x/name.c.
function(rill_re2c OUT INPUT)
  if(NOT RE2C)
    message(FATAL_ERROR "re2c is missing: install the package re2c, or run `make setup`")
  endif()
  cmake_path(RELATIVE_PATH INPUT BASE_DIRECTORY ${PROJECT_SOURCE_DIR} OUTPUT_VARIABLE relative)
  cmake_path(REPLACE_EXTENSION relative LAST_ONLY c OUTPUT_VARIABLE relative_c)
  set(output ${PROJECT_BINARY_DIR}/${relative_c})
  cmake_path(GET output PARENT_PATH folder)
  file(MAKE_DIRECTORY ${folder})
  add_custom_command(OUTPUT ${output}
    COMMAND ${RE2C} -W -Werror -8 --no-generation-date -i -o ${output} ${INPUT}
    DEPENDS ${INPUT} COMMENT "re2c ${relative}" VERBATIM)
  set_source_files_properties(${output} PROPERTIES COMPILE_OPTIONS "${RILL_GENERATED_OPTIONS}")
  set(${OUT} ${${OUT}} ${output} PARENT_SCOPE)
endfunction()

# rill_lemon(OUT INPUT): INPUT x/name.y becomes <build>/x/name.c and <build>/x/name.h. Lemon's exit status is the number
# of conflicts, so that a conflict fails the build. It leaves an unchanged header alone: touch tells Ninja it is fresh.
function(rill_lemon OUT INPUT)
  if(NOT LEMON OR NOT LEMON_TEMPLATE)
    message(FATAL_ERROR "lemon is missing: install the package lemon, or run `make setup`")
  endif()
  cmake_path(RELATIVE_PATH INPUT BASE_DIRECTORY ${PROJECT_SOURCE_DIR} OUTPUT_VARIABLE relative)
  cmake_path(REPLACE_EXTENSION relative LAST_ONLY c OUTPUT_VARIABLE relative_c)
  cmake_path(REPLACE_EXTENSION relative LAST_ONLY h OUTPUT_VARIABLE relative_h)
  set(output ${PROJECT_BINARY_DIR}/${relative_c})
  set(header ${PROJECT_BINARY_DIR}/${relative_h})
  cmake_path(GET output PARENT_PATH folder)
  file(MAKE_DIRECTORY ${folder})
  add_custom_command(OUTPUT ${output} ${header}
    COMMAND ${LEMON} -q -T${LEMON_TEMPLATE} -d${folder} ${INPUT}
    COMMAND ${CMAKE_COMMAND} -E touch ${output} ${header}
    DEPENDS ${INPUT} ${LEMON_TEMPLATE} COMMENT "lemon ${relative}" VERBATIM)
  set_source_files_properties(${output} PROPERTIES COMPILE_OPTIONS "${RILL_GENERATED_OPTIONS}")
  set(${OUT} ${${OUT}} ${output} ${header} PARENT_SCOPE)
endfunction()
