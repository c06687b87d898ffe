// SPDX-License-Identifier: Apache-2.0
#ifndef RILL_BASE_OPT_H
#define RILL_BASE_OPT_H

#include "diag.h"

/* One table describes the options of a command line, a pass or a target: what a row says is how it is parsed,
 * checked, given its default and documented. Values land in a struct of the table's owner:
 *
 *     struct fuse_options { uint64_t max_depth; int mode; };
 *     static const ir_opt fuse_options[] = {
 *       OPT_UINT(struct fuse_options, max_depth, "max-depth", "256", "operators in a group", .min = 1, .max = 4096),
 *       OPT_CHOICE(struct fuse_options, mode, "mode", "inference|training", "inference", "what to fuse for"),
 *       OPT_END,
 *     };
 *
 * base/command.h reads command lines with such a table, ir_opt_parse the text `{max-depth=8, mode=training}`. */
typedef enum ir_opt_kind {
  IR_OPT_FLAG,    /* bool; on, off, true or false; the name alone means on */
  IR_OPT_INT,     /* int64_t */
  IR_OPT_UINT,    /* uint64_t */
  IR_OPT_FLOAT,   /* double */
  IR_OPT_STRING,  /* const char *, NULL while not set */
  IR_OPT_CHOICE,  /* int or an enum: the position in `choices` */
  IR_OPT_STRINGS, /* ir_opt_strings: one for each time the option is given, or a list in [...] in option text */
  IR_OPT_INTS,    /* ir_opt_ints: `8`, `[1, 2]`, on a command line also `1,2` */
  IR_OPT_GROUP,   /* a nested struct with a table of its own: `fp={fma=on}`, `--fp=fma=on` */
} ir_opt_kind;

typedef struct ir_opt_strings {
  const char **at;
  size_t count, capacity;
} ir_opt_strings;

typedef struct ir_opt_ints {
  int64_t *at;
  size_t count, capacity;
} ir_opt_ints;

typedef struct ir_opt ir_opt;
struct ir_opt {
  const char *name; /* without dashes; NULL ends a table */
  ir_opt_kind kind;
  size_t offset;       /* of the value in the owner's struct */
  const char *text;    /* the default, in the form that a user writes; NULL for zero, empty, not set, and for STRINGS */
  const char *doc;     /* lower case, no full stop */
  const char *choices; /* of a CHOICE: "inference|training" */
  int64_t min, max;    /* least and greatest number, both 0 for no bounds */
  char letter;         /* command line: the one-letter form, `-o FILE` */
  const char *value;   /* help: what the value is called where the kind's own word says too little ("FILE") */
  const char *bare;    /* the value that the name alone stands for (`--bench` beside `--bench=30`) */
  const char *instead; /* of a CHOICE: words that others use for it, "vulkan=spirv,metal=msl" */
  const ir_opt *group; /* of a GROUP: its table */
  bool empty;          /* command line: a text that says nothing is one, too */
  bool in_order;       /* command line: goes to the command's FLAG as well, where it stands among other flags */
};

#define OPT_ROW(type, field, kind_, of, ...) \
  { .kind = IR_OPT_##kind_, .offset = offsetof(type, field) + 0 * sizeof(&((type *)0)->field == (of *)0), __VA_ARGS__ }
#define OPT_NAMED(name_, text_, doc_, ...) .name = name_, .text = text_, .doc = doc_, __VA_ARGS__
#define OPT_FLAG(type, field, ...) OPT_ROW(type, field, FLAG, bool, .bare = "on", OPT_NAMED(__VA_ARGS__, ))
#define OPT_INT(type, field, ...) OPT_ROW(type, field, INT, int64_t, OPT_NAMED(__VA_ARGS__, ))
#define OPT_UINT(type, field, ...) OPT_ROW(type, field, UINT, uint64_t, OPT_NAMED(__VA_ARGS__, ))
#define OPT_FLOAT(type, field, ...) OPT_ROW(type, field, FLOAT, double, OPT_NAMED(__VA_ARGS__, ))
#define OPT_STRING(type, field, ...) OPT_ROW(type, field, STRING, const char *, OPT_NAMED(__VA_ARGS__, ))
#define OPT_STRINGS(type, field, ...) OPT_ROW(type, field, STRINGS, ir_opt_strings, OPT_NAMED(__VA_ARGS__, ))
#define OPT_INTS(type, field, ...) OPT_ROW(type, field, INTS, ir_opt_ints, OPT_NAMED(__VA_ARGS__, ))
/* The field may have any type of int's size, so that an enum fits. */
#define OPT_CHOICE(type, field, name_, choices_, ...) \
  { \
    .kind = IR_OPT_CHOICE, .choices = choices_, \
    .offset = offsetof(type, field) + 0 * sizeof(char[sizeof(((type *)0)->field) == sizeof(int) ? 1 : -1]), \
    OPT_NAMED(name_, __VA_ARGS__, ) \
  }
#define OPT_GROUP(type, field, name_, group_, doc_) \
  { .kind = IR_OPT_GROUP, .offset = offsetof(type, field), .name = name_, .group = group_, .doc = doc_ }
#define OPT_END \
  { .name = NULL }

/* Addresses of the fields that have been set. */
typedef struct ir_opt_fields {
  const void **at;
  size_t count, capacity;
} ir_opt_fields;

/* Where values come from: who is named in an error, and where values are kept. */
typedef struct ir_opt_site {
  ir_diags *diags;
  ir_arena *arena;         /* keeps strings and lists */
  const ir_source *source; /* errors point into it where the parsed text is a piece of it; may be NULL */
  const char *where;       /* else they begin with this: the program's name */
  const char *owner;       /* "pass 'fuse-ops'"; NULL on a command line, whose option names carry dashes */
  ir_opt_fields *given;    /* what has been set: a second value is refused, STRINGS aside; NULL to allow it */
} ir_opt_site;

/* Clears the fields that ROWS describe and gives them their defaults. False, with an error, where a default is not
 * valid: a fault of the table. */
bool ir_opt_defaults(const ir_opt_site *site, const ir_opt *rows, void *into);

/* Reads `a=b, c=[1, 2]`, with or without braces around it; a value ends at a comma outside brackets and quotes, a flag
 * may stand alone, a value in double quotes may hold anything (\" and \\ are its escapes). False, with errors, where a
 * name is unknown or given twice or a value does not fit. */
bool ir_opt_parse(const ir_opt_site *site, const ir_opt *rows, void *into, ir_slice text);

/* Sets one option that has been found; command lines are read with it. */
bool ir_opt_set(const ir_opt_site *site, const ir_opt *row, void *into, ir_slice value);
/* The row called NAME, NULL where there is none. */
const ir_opt *ir_opt_find(const ir_opt *rows, ir_slice name);
/* Offers every name of ROWS. */
void ir_opt_offer(const ir_opt *rows, ir_nearest *nearest);

/* "one of 'a', 'b' or 'c'", "an integer from 1 to 8": what a value of ROW must be. */
void ir_opt_expected(const ir_opt *row, ir_text *text);
/* One entry for each row: name and value, documentation, default; wrapped at 100 columns. DASHES go before names. */
void ir_opt_help(const ir_opt *rows, const char *dashes, ir_text *text);

#endif
