// SPDX-License-Identifier: Apache-2.0
// What spirv-cross includes and none of its kernels here uses.
