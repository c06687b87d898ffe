// SPDX-License-Identifier: Apache-2.0
/* runtime/interp/kernels_wide.c - the interpreter's loops with AVX2 and FMA: the same bits, sooner. */
#if defined(__x86_64__)
#define KERNELS ir_kernels_wide
#define TARGET __attribute__((target("avx2,fma")))
#include "runtime/interp/kernels.inc"
#else
typedef int ir_kernels_wide_is_of_another_machine;
#endif
