// SPDX-License-Identifier: Apache-2.0
#ifndef RILL_BASE_PATH_H
#define RILL_BASE_PATH_H

#include "diag.h"

/* The part of PATH before the last slash: "a/b" of "a/b/c", "/" of "/c", "." where there is no slash (so also for
 * "-", standard input, which stands for the current folder). */
const char *ir_path_folder(ir_arena *arena, const char *path);
/* The part of PATH after the last slash; points into PATH. */
const char *ir_path_base(const char *path);
/* NAME in FOLDER: joined by a slash unless FOLDER is "." or ends with one. */
const char *ir_path_join(ir_arena *arena, const char *folder, const char *name);
/* PATH with ENDING ("weights.safetensors") in place of the last component's extension: cls.rill, cls, and .rill give
 * cls.weights.safetensors, cls.weights.safetensors and .rill.weights.safetensors. */
const char *ir_path_with_ending(ir_arena *arena, const char *path, const char *ending);

/* Finds the file that the file FOLDER_OF names as RELATIVE, and returns its resolved absolute path. Reports in the
 * name of FOLDER_OF and returns NULL where RELATIVE is empty or absolute, leaves the folder of FOLDER_OF at any of its
 * components, leaves it through a symbolic link, does not exist, or is no regular file. "a/../b" stays inside. */
const char *ir_path_confined(ir_diags *diags, ir_arena *arena, const char *folder_of, const char *relative);

#endif
