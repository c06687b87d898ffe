# SPDX-License-Identifier: Apache-2.0
# The code that compiled models are linked with (runtime/llvm/support), as LLVM bitcode for each architecture.
find_program(CLANG NAMES clang-19)
if(NOT CLANG)
  message(FATAL_ERROR "clang-19 is missing: install the package clang-19, run `make setup`, or pass -DRILL_LLVM=OFF")
endif()
set(support ${PROJECT_SOURCE_DIR}/runtime/llvm/support)
set(out ${PROJECT_BINARY_DIR}/support)
file(GLOB headers CONFIGURE_DEPENDS ${support}/*.h)
file(GLOB units CONFIGURE_DEPENDS ${support}/*.c)
set(made ${out}/interface.h)
configure_file(${support}/interface.h ${out}/interface.h COPYONLY)
foreach(arch x86_64 aarch64 riscv64 wasm32)
  set(triple ${arch}-unknown-linux-gnu)
  set(options)
  if(arch STREQUAL wasm32)
    set(triple wasm32-unknown-unknown)
  elseif(arch STREQUAL riscv64)
    # Code that linkers may shorten does not go with code that they may not, such as what models are made of.
    set(options -mno-relax)
  endif()
  # One unit: the files hold no names twice.
  add_custom_command(OUTPUT ${out}/${arch}.bc
    COMMAND ${CLANG} --target=${triple} -std=c11 -ffreestanding -fPIC -Os -fno-ident -Wall -Wextra -Werror -c -emit-llvm ${options}
            -include ${support}/memory.c -include ${support}/side.c ${support}/model.c -o ${out}/${arch}.bc
    DEPENDS ${units} ${headers} ${PROJECT_SOURCE_DIR}/targets/llvm/abi.h
    COMMENT "Compiling the support code for ${arch}" VERBATIM)
  list(APPEND made ${out}/${arch}.bc)
endforeach()
set_source_files_properties(runtime/llvm/support_code.c PROPERTIES COMPILE_DEFINITIONS RILL_SUPPORT="${out}" OBJECT_DEPENDS "${made}")
