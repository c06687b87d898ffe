// SPDX-License-Identifier: Apache-2.0
#ifndef RILL_BASE_COMMAND_H
#define RILL_BASE_COMMAND_H

#include "opt.h"

/* Exit statuses of every tool. */
enum { IR_EXIT_OK = 0, IR_EXIT_INPUT = 1, IR_EXIT_USAGE = 2, IR_EXIT_INTERNAL = 3 };

typedef enum ir_flag_result { IR_FLAG_UNKNOWN, IR_FLAG_TAKEN, IR_FLAG_FAILED } ir_flag_result;

/* A command line: `--name=value`, `--name value`, `--flag`, `-o FILE`, arguments in between, `--` before arguments
 * that begin with a dash, `-` as an argument of its own. `--help` and `--version` come with every command. */
typedef struct ir_command {
  const char *name;  /* "ir-opt" */
  const char *usage; /* what follows the name: "[options] [passes] [file]" */
  const char *doc;   /* what the tool does, in a line or two */
  const ir_opt *options;
  size_t least, most; /* number of arguments */
  /* Flags that are in no table, and rows with `in_order`, in the order given: a pass of ir-opt. NAME is what stands before the first '=' or '{',
   * VALUE what follows ('{' included, '=' not), with at NULL where nothing does. FAILED has reported its error. */
  ir_flag_result (*flag)(void *user, const ir_opt_site *site, ir_slice name, ir_slice value);
  /* Offers the names that FLAG knows, for "did you mean". */
  void (*offer)(void *user, ir_nearest *nearest);
  /* More help after the options. */
  void (*help)(void *user, ir_text *text);
  void *user;
} ir_command;

typedef struct ir_args {
  const char **at; /* arguments that are no options, in order */
  size_t count, capacity;
  ir_opt_fields given; /* fields of INTO that the command line set, defaults aside */
} ir_args;

/* Fills INTO with defaults, then with what ARGV says. Returns -1 to go on, else the status to exit with: after `--help`
 * or `--version`, or after errors, which have been printed. */
int ir_command_parse(const ir_command *command, ir_diags *diags, ir_arena *arena, int argc, char **argv, void *into,
                     ir_args *args);
/* Whether the command line set FIELD, a pointer to a field of INTO: `ir_args_given(&args, &options.rtol)`. */
bool ir_args_given(const ir_args *args, const void *field);
void ir_command_help(const ir_command *command, ir_text *text);

#endif
