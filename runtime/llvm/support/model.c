// SPDX-License-Identifier: Apache-2.0
/* runtime/llvm/support/model.c - opened models: tensors checked and made dense, memory kept between runs, messages. */
#include "support.h"

/* A block that the model has taken from its host. */
typedef struct block {
  void *memory;
  int64_t bytes;
  bool used, touched; /* now; in this run */
} block;

struct rill_model {
  rill_context context; /* first: emitted code hands it to the functions below */
  const rill_info *info;
  const void *side; /* the side file in memory; NULL: none */
  rill_env env;
  block *blocks;
  int64_t block_count, block_room;
  rill_tensor *inputs, *outputs;
  int64_t *dims;   /* of the outputs, one after the other */
  bool *ours;      /* outputs whose memory was made for this call */
  int code;        /* of the last failure */
  int failing;     /* the code of checks that emitted code makes now */
};

/* --- the host's functions --- */

static void *plain_alloc(void *user, size_t bytes, size_t align) {
  (void)user;
  return aligned_alloc(align, (bytes + align - 1) & ~(align - 1));
}

static void plain_free(void *user, void *memory) {
  (void)user;
  free(memory);
}

static void plain_error(void *user, int code, const char *message) {
  (void)user;
  (void)code;
  (void)message;
}

static void complete(rill_env *env, const rill_env *given) {
  *env = given ? *given : (rill_env){0};
  env->version = RILL_ENV_VERSION;
  if (!env->alloc != !env->free) env->alloc = NULL; /* half of a pair is none */
  if (!env->alloc) {
    env->alloc = plain_alloc;
    env->free = plain_free;
  }
  if (!env->error) env->error = plain_error;
}

/* --- messages --- */

typedef struct message {
  char text[512];
  size_t length;
} message;

static void put_char(message *m, char c) {
  if (m->length + 1 < sizeof m->text) m->text[m->length++] = c;
  m->text[m->length] = 0;
}

static void put(message *m, const char *text) {
  while (*text) put_char(m, *text++);
}

static void put_number(message *m, int64_t value) {
  char digits[20];
  size_t count = 0;
  uint64_t rest = value < 0 ? -(uint64_t)value : (uint64_t)value;
  do digits[count++] = (char)('0' + rest % 10);
  while (rest /= 10);
  if (value < 0) put_char(m, '-');
  while (count) put_char(m, digits[--count]);
}

static int tell(rill_model *model, int code, const message *m) {
  model->code = code;
  model->env.error(model->env.user, code, m->text);
  return code;
}

/* "main: input 'x' ", then TEXT. */
static int refuse(rill_model *model, const char *kind, const rill_value *value, const char *text) {
  message m = {.length = 0};
  put(&m, model->info->name);
  put(&m, ": ");
  put(&m, kind);
  put(&m, " '");
  put(&m, value->name);
  put(&m, "' ");
  put(&m, text);
  return tell(model, RILL_INVALID, &m);
}

static int refuse_numbers(rill_model *model, const char *kind, const rill_value *value, const char *what, int64_t found, int64_t expected) {
  message m = {.length = 0};
  put(&m, "has ");
  put(&m, what);
  put(&m, " ");
  put_number(&m, found);
  put(&m, ", expected ");
  put_number(&m, expected);
  return refuse(model, kind, value, m.text);
}

static int no_memory(rill_model *model, int64_t bytes) {
  message m = {.length = 0};
  put(&m, model->info->name);
  put(&m, ": no memory for ");
  put_number(&m, bytes);
  put(&m, " bytes");
  return tell(model, RILL_MEMORY, &m);
}

/* --- what emitted code calls --- */

static bool room_for_block(rill_model *model) {
  if (model->block_count < model->block_room) return true;
  int64_t room = model->block_room ? 2 * model->block_room : 16;
  block *blocks = model->env.alloc(model->env.user, (size_t)room * sizeof *blocks, RILL_ALIGN);
  if (!blocks) return false;
  memcpy(blocks, model->blocks, (size_t)model->block_count * sizeof *blocks);
  if (model->blocks) model->env.free(model->env.user, model->blocks);
  model->blocks = blocks;
  model->block_room = room;
  return true;
}

/* The smallest free block that is large enough and not twice too large. */
static block *find_block(rill_model *model, int64_t bytes) {
  block *best = NULL;
  for (int64_t i = 0; i < model->block_count; i++) {
    block *b = &model->blocks[i];
    if (b->used || b->bytes < bytes || b->bytes / 2 > bytes) continue;
    if (!best || b->bytes < best->bytes) best = b;
  }
  return best;
}

static void *take(rill_context *context, int64_t bytes) {
  rill_model *model = (rill_model *)context;
  if (bytes < RILL_ALIGN) bytes = RILL_ALIGN;
  block *found = find_block(model, bytes);
  if (found) {
    found->used = found->touched = true;
    return found->memory;
  }
  void *memory = room_for_block(model) ? model->env.alloc(model->env.user, (size_t)bytes, RILL_ALIGN) : NULL;
  if (!memory) {
    no_memory(model, bytes);
    return NULL;
  }
  model->blocks[model->block_count++] = (block){memory, bytes, true, true};
  return memory;
}

static void give(rill_context *context, void *memory) {
  rill_model *model = (rill_model *)context;
  for (int64_t i = 0; memory && i < model->block_count; i++) {
    if (model->blocks[i].memory == memory) model->blocks[i].used = false;
  }
}

/* Blocks that a run had no use for, left by one with other extents, go back to the host. */
static void trim(rill_model *model) {
  int64_t kept = 0;
  for (int64_t i = 0; i < model->block_count; i++) {
    block b = model->blocks[i];
    if (b.touched) {
      b.touched = b.used;
      model->blocks[kept++] = b;
    } else {
      model->env.free(model->env.user, b.memory);
    }
  }
  model->block_count = kept;
}

static void fail(rill_context *context, const rill_failure *failure, const int64_t *values) {
  rill_model *model = (rill_model *)context;
  message m = {.length = 0};
  if (*failure->where) {
    put(&m, failure->where);
    put(&m, ": ");
  }
  for (const char *at = failure->text; *at; at++) {
    bool value = values && at[0] == '{' && at[1] >= '0' && at[1] <= '9' && at[2] == '}';
    if (value) {
      put_number(&m, values[at[1] - '0']);
      at += 2;
    } else {
      put_char(&m, *at);
    }
  }
  tell(model, model->failing, &m);
}

/* --- threads --- */

enum { MOST_CHUNKS = 64 };

struct sharing {
  rill_context context; /* for the threads: without a voice, so that what a failure says does not depend on who came first */
  rill_body *body;
  void *data;
  int64_t count, chunks;
  int failed, wrong;     /* wrong: a chunk was asked for that had begun, or that there is not */
  int state[MOST_CHUNKS]; /* of each */
};
enum { BEGUN = 1, DONE = 2 };

static void run_chunk(void *data, size_t i) {
  struct sharing *s = data;
  if (i >= (size_t)s->chunks || __atomic_exchange_n(&s->state[i], BEGUN, __ATOMIC_RELAXED)) {
    __atomic_store_n(&s->wrong, 1, __ATOMIC_RELAXED);
    return;
  }
  int64_t begin = s->count * (int64_t)i / s->chunks, end = s->count * ((int64_t)i + 1) / s->chunks;
  if (s->body(&s->context, s->data, begin, end)) __atomic_store_n(&s->failed, 1, __ATOMIC_RELAXED);
  __atomic_store_n(&s->state[i], DONE, __ATOMIC_RELEASE);
}

/* The host's parallel_for has kept what it promises. */
static bool all_ran(struct sharing *s) {
  bool all = !__atomic_load_n(&s->wrong, __ATOMIC_RELAXED);
  for (int64_t i = 0; i < s->chunks; i++) all &= __atomic_load_n(&s->state[i], __ATOMIC_ACQUIRE) == DONE;
  return all;
}

static void say_nothing(rill_context *context, const rill_failure *failure, const int64_t *values) {
  (void)context;
  (void)failure;
  (void)values;
}

static int report_parallel(rill_model *model, int64_t count) {
  message m = {.length = 0};
  put(&m, model->info->name);
  put(&m, ": the environment's parallel_for did not run each of ");
  put_number(&m, count);
  put(&m, " bodies exactly once before it returned");
  return tell(model, RILL_FAILED, &m);
}

/* The host does not say how many threads it has: chunks of some ten microseconds, but not too many. */
static int32_t parallel(rill_context *context, int64_t count, int64_t cost, rill_body *body, void *data) {
  enum { LEAST = 1 << 15 };
  rill_model *model = (rill_model *)context;
  int64_t rounds = cost >= LEAST ? 1 : LEAST / (cost > 0 ? cost : 1), chunks = count / rounds;
  if (chunks > MOST_CHUNKS) chunks = MOST_CHUNKS;
  if (chunks < 2) return body(context, data, 0, count);
  struct sharing s = {.context = {.fail = say_nothing}, .body = body, .data = data, .count = count, .chunks = chunks};
  model->env.parallel_for(model->env.user, (size_t)chunks, run_chunk, &s);
  if (!all_ran(&s)) return report_parallel(model, chunks);
  /* Once more in order: the first failure is the one that is told. */
  return s.failed ? body(context, data, 0, count) : 0;
}

/* --- tensors --- */

static bool same_type(const rill_value *value, DLDataType type) {
  if (type.lanes != 1 || type.bits != value->bits) return false;
  return type.code == value->code || (value->code == 6 && type.code == 1);
}

static int check_form(rill_model *model, const char *kind, const rill_value *value, const DLTensor *tensor) {
  if (!tensor) return refuse(model, kind, value, "is missing");
  if ((int)tensor->device.device_type != 1) return refuse(model, kind, value, "is not in the memory of the CPU");
  if (!same_type(value, tensor->dtype)) return refuse(model, kind, value, value->expected);
  if (tensor->ndim != value->rank) return refuse_numbers(model, kind, value, "axes", tensor->ndim, value->rank);
  if (value->rank && !tensor->shape) return refuse(model, kind, value, "has no shape");
  return RILL_OK;
}

/* The number of elements; negative where no tensor has these extents. */
static int64_t count_of(const int64_t *dims, int32_t rank) {
  int64_t product = 1;
  bool empty = false;
  for (int32_t i = 0; i < rank; i++) {
    if (dims[i] < 0 || dims[i] > RILL_MOST_ELEMENTS) return -1;
    empty |= !dims[i];
    if (dims[i] && (__builtin_mul_overflow(product, dims[i], &product) || product > RILL_MOST_ELEMENTS)) return -1;
  }
  return empty ? 0 : product;
}

/* The bytes of COUNT elements, those of less than a byte packed, and the bytes of a single one. */
static int64_t bytes_of(int64_t count, const rill_value *value) { return (count * value->bits + 7) / 8; }
static int64_t size_of(const rill_value *value) { return bytes_of(1, value); }

static bool is_dense(const DLTensor *tensor) {
  int64_t step = 1;
  for (int32_t i = tensor->ndim; tensor->strides && i > 0; i--) {
    if (tensor->shape[i - 1] != 1 && tensor->strides[i - 1] != step) return false;
    step *= tensor->shape[i - 1];
  }
  return true;
}

static char *data_of(const DLTensor *tensor) { return tensor->data ? (char *)tensor->data + tensor->byte_offset : NULL; }

/* COUNT elements of SIZE bytes, from anywhere, in row-major order. */
static void gather(char *to, const DLTensor *from, int64_t count, int64_t size) {
  int64_t at[RILL_MOST_AXES] = {0};
  const char *base = data_of(from);
  for (int64_t i = 0; i < count; i++, to += size) {
    int64_t offset = 0;
    for (int32_t d = 0; d < from->ndim; d++) offset += at[d] * from->strides[d];
    memcpy(to, base + offset * size, (size_t)size);
    for (int32_t d = from->ndim; d > 0 && ++at[d - 1] == from->shape[d - 1]; d--) at[d - 1] = 0;
  }
}

/* The elements of IN as emitted code wants them; a copy where they are not dense or not aligned to their size. */
static int take_input(rill_model *model, int64_t i, const DLTensor *in, bool values) {
  const rill_value *value = &model->info->inputs[i];
  int status = check_form(model, "input", value, in);
  if (status) return status;
  int64_t count = count_of(in->shape, in->ndim), size = size_of(value);
  if (count < 0) return refuse(model, "input", value, "has extents that no tensor has");
  char *data = data_of(in);
  bool shape = value->extents >= 0;
  if (shape && count != value->extents) return refuse_numbers(model, "input", value, "extent", count, value->extents);
  model->inputs[i] = (rill_tensor){data, in->shape};
  if (!values && value->rank && !shape) return RILL_OK;
  if (!data && count) return refuse(model, "input", value, "has no data");
  bool aligned = (uintptr_t)data % (uint64_t)size == 0;
  if (!count || (aligned && is_dense(in))) return RILL_OK;
  if (value->bits < 8) return refuse(model, "input", value, "is not dense: its elements share bytes");
  char *copy = take(&model->context, count * size);
  if (!copy) return RILL_MEMORY;
  model->inputs[i].data = copy;
  if (is_dense(in)) {
    memcpy(copy, data, (size_t)(count * size));
  } else {
    gather(copy, in, count, size);
  }
  return RILL_OK;
}

static void give_inputs(rill_model *model, DLTensor *const *in) {
  for (int64_t i = 0; i < model->info->input_count; i++) {
    if (model->inputs[i].data && in[i] && model->inputs[i].data != data_of(in[i])) give(&model->context, model->inputs[i].data);
    model->inputs[i].data = NULL;
  }
}

/* Inputs checked, then the extents of the outputs, -1 for those that only the data tells. */
static int prepare(rill_model *model, DLTensor *const *in, bool values) {
  int status = RILL_OK;
  for (int64_t i = 0; i < model->info->input_count; i++) model->inputs[i].data = NULL;
  for (int64_t i = 0; i < model->info->input_count && !status; i++) status = take_input(model, i, in[i], values);
  if (status) return status;
  int64_t *dims = model->dims;
  for (int64_t i = 0; i < model->info->output_count; i++) {
    model->outputs[i] = (rill_tensor){NULL, dims};
    dims += model->info->outputs[i].rank;
  }
  model->code = model->failing = RILL_INVALID;
  return model->info->shapes(&model->context, model->inputs, model->outputs) ? model->code : RILL_OK;
}

static int check_output_form(rill_model *model, int64_t i, const DLTensor *out) {
  return check_form(model, "output", &model->info->outputs[i], out);
}

int32_t rill_support_shapes(rill_model *model, DLTensor *const *in, DLTensor *const *out) {
  int status = prepare(model, in, false);
  for (int64_t i = 0; i < model->info->output_count && !status; i++) {
    status = check_output_form(model, i, out[i]);
    for (int32_t d = 0; d < model->info->outputs[i].rank && !status; d++) out[i]->shape[d] = model->outputs[i].dims[d];
  }
  give_inputs(model, in);
  return status;
}

/* --- outputs --- */

static bool meet(const char *a, int64_t a_bytes, const char *b, int64_t b_bytes) {
  return a && b && a_bytes && b_bytes && (uintptr_t)a < (uintptr_t)b + (uint64_t)b_bytes && (uintptr_t)b < (uintptr_t)a + (uint64_t)a_bytes;
}

/* The bytes between the first and the last element. */
static void span_of(const DLTensor *tensor, const rill_value *value, const char **low, int64_t *bytes) {
  int64_t least = 0, most = 0, step = 1;
  for (int32_t i = tensor->ndim; i > 0; i--) {
    int64_t stride = tensor->strides ? tensor->strides[i - 1] : step;
    step *= tensor->shape[i - 1];
    int64_t reach = stride * (tensor->shape[i - 1] - 1);
    *(reach < 0 ? &least : &most) += reach;
  }
  *low = data_of(tensor) ? data_of(tensor) + least * size_of(value) : NULL;
  *bytes = count_of(tensor->shape, tensor->ndim) > 0 ? bytes_of(most - least + 1, value) : 0;
}

static int check_overlap(rill_model *model, int64_t i, DLTensor *const *in, DLTensor *const *out, int64_t bytes) {
  const char *data = data_of(out[i]), *low;
  int64_t other;
  for (int64_t k = 0; k < model->info->input_count; k++) {
    span_of(in[k], &model->info->inputs[k], &low, &other);
    if (meet(data, bytes, low, other)) return refuse(model, "output", &model->info->outputs[i], "lies where an input does");
  }
  for (int64_t k = 0; k < i; k++) {
    if (!out[k]->data || model->ours[k]) continue;
    span_of(out[k], &model->info->outputs[k], &low, &other);
    if (meet(data, bytes, low, other)) return refuse(model, "output", &model->info->outputs[i], "lies where another output does");
  }
  return RILL_OK;
}

/* Memory that the caller gave for output I. */
static int use_given(rill_model *model, int64_t i, DLTensor *const *in, DLTensor *const *out) {
  const rill_value *value = &model->info->outputs[i];
  const int64_t *dims = model->outputs[i].dims;
  for (int32_t d = 0; d < value->rank; d++) {
    if (dims[d] < 0) return refuse(model, "output", value, "has extents that only the data tells: its data must be NULL");
    if (dims[d] != out[i]->shape[d]) return refuse_numbers(model, "output", value, "extent", out[i]->shape[d], dims[d]);
  }
  bool aligned = (uintptr_t)data_of(out[i]) % (uint64_t)size_of(value) == 0;
  if (!is_dense(out[i]) || !aligned) return refuse(model, "output", value, "is not dense or not aligned to its elements");
  model->outputs[i].data = data_of(out[i]);
  return check_overlap(model, i, in, out, bytes_of(count_of(dims, value->rank), value));
}

/* Memory that the caller gets for output I, where its size is known. */
static int make_output(rill_model *model, int64_t i, DLTensor *out) {
  const rill_value *value = &model->info->outputs[i];
  int64_t count = count_of(model->outputs[i].dims, value->rank), bytes = bytes_of(count, value);
  if (count < 0) return RILL_OK;
  if (bytes < RILL_ALIGN) bytes = RILL_ALIGN;
  out->data = model->env.alloc(model->env.user, (size_t)bytes, RILL_ALIGN);
  if (!out->data) return no_memory(model, bytes);
  model->ours[i] = true;
  model->outputs[i].data = out->data;
  return RILL_OK;
}

/* An output whose size the run has told, now in memory of the model, moves to memory of the caller. */
static int move_output(rill_model *model, int64_t i, DLTensor *out) {
  void *found = model->outputs[i].data;
  int status = make_output(model, i, out);
  int64_t bytes = bytes_of(count_of(model->outputs[i].dims, model->info->outputs[i].rank), &model->info->outputs[i]);
  if (!status && bytes) memcpy(out->data, found, (size_t)bytes);
  give(&model->context, found);
  return status;
}

static int settle_outputs(rill_model *model, DLTensor *const *in, DLTensor *const *out) {
  int status = RILL_OK;
  for (int64_t i = 0; i < model->info->output_count && !status; i++) status = check_output_form(model, i, out[i]);
  for (int64_t i = 0; i < model->info->output_count && !status; i++) {
    status = out[i]->data ? use_given(model, i, in, out) : make_output(model, i, out[i]);
  }
  return status;
}

static int finish_outputs(rill_model *model, DLTensor *const *out) {
  int status = RILL_OK;
  for (int64_t i = 0; i < model->info->output_count; i++) {
    if (!out[i]->data && !status) status = move_output(model, i, out[i]);
    for (int32_t d = 0; d < model->info->outputs[i].rank; d++) out[i]->shape[d] = model->outputs[i].dims[d];
    if (!model->ours[i]) continue;
    out[i]->byte_offset = 0;
    out[i]->strides = NULL;
  }
  return status;
}

/* A failed call leaves no memory behind. */
static void drop_outputs(rill_model *model, DLTensor *const *out) {
  for (int64_t i = 0; i < model->info->output_count; i++) {
    if (!model->ours[i]) continue;
    model->env.free(model->env.user, out[i]->data);
    out[i]->data = NULL;
  }
}

int32_t rill_support_run(rill_model *model, DLTensor *const *in, DLTensor *const *out) {
  for (int64_t i = 0; i < model->info->output_count; i++) model->ours[i] = false;
  int status = prepare(model, in, true);
  if (!status) status = settle_outputs(model, in, out);
  if (!status) {
    model->code = model->failing = RILL_FAILED;
    if (model->info->run(&model->context, model->inputs, model->outputs)) status = model->code;
  }
  if (!status) status = finish_outputs(model, out);
  if (status) drop_outputs(model, out);
  give_inputs(model, in);
  trim(model);
  return status;
}

/* --- opening and closing --- */

static bool make_plans(rill_model *model) {
  rill_plans *plans = model->context.plans = take(&model->context, (int64_t)sizeof *plans);
  if (!plans) return false;
  for (int64_t i = 0; i < RILL_PLANS; i++) plans->at[i].live = NULL;
  plans->next = plans->made = 0;
  return true;
}

static bool make_lists(rill_model *model) {
  const rill_info *info = model->info;
  int64_t dims = 1;
  for (int64_t i = 0; i < info->output_count; i++) dims += info->outputs[i].rank;
  model->inputs = take(&model->context, (info->input_count + 1) * (int64_t)sizeof *model->inputs);
  model->outputs = take(&model->context, (info->output_count + 1) * (int64_t)sizeof *model->outputs);
  model->dims = take(&model->context, dims * (int64_t)sizeof *model->dims);
  model->ours = take(&model->context, info->output_count + 1);
  return model->inputs && model->outputs && model->dims && model->ours && make_plans(model);
}

static bool same_bytes(const char *a, const char *b, int64_t count) {
  while (count && *a == *b) a++, b++, count--;
  return !count;
}

static int open_side(rill_model *model, const char *path) {
  const rill_side *side = model->info->side;
  const char *file = model->side = side->map(path, side->bytes);
  const void **constants = file ? take(&model->context, (side->count + 1) * (int64_t)sizeof *constants) : NULL;
  if (file && !constants) return RILL_MEMORY;
  if (!file || !same_bytes(file, side->head, RILL_SIDE_HEAD)) {
    message m = {.length = 0};
    put(&m, model->info->name);
    put(&m, file ? ": not this model's side file: " : ": no side file of the right size: ");
    put(&m, path);
    return tell(model, RILL_INVALID, &m);
  }
  for (int64_t i = 0; i < side->count; i++) constants[i] = file + side->offsets[i];
  model->context.constants = constants;
  return RILL_OK;
}

int32_t rill_support_open(const rill_info *info, const rill_env *given, const char *side_file, rill_model **result) {
  rill_env env;
  complete(&env, given);
  *result = NULL;
  rill_model failing = {.info = info, .env = env};
  message m = {.length = 0};
  put(&m, info->name);
  if (given && given->version != RILL_ENV_VERSION) {
    put(&m, ": rill_env has a version that this model does not know");
    return tell(&failing, RILL_INVALID, &m);
  }
  if (!side_file != !info->side) {
    put(&m, side_file ? ": all constants are inside: the side file must be NULL" : ": constants are in a side file, which is NULL");
    return tell(&failing, RILL_INVALID, &m);
  }
  rill_model *model = env.alloc(env.user, sizeof *model, RILL_ALIGN);
  if (!model) return no_memory(&failing, sizeof *model);
  *model = (rill_model){.context = {.alloc = take, .free = give, .fail = fail, .parallel = env.parallel_for ? parallel : NULL}, .info = info, .env = env};
  int status = make_lists(model) ? RILL_OK : RILL_MEMORY;
  if (!status && side_file) status = open_side(model, side_file);
  if (status) {
    rill_support_close(model);
    return status;
  }
  *result = model;
  return RILL_OK;
}

void rill_support_close(rill_model *model) {
  if (!model) return;
  const rill_env env = model->env;
  if (model->side) model->info->side->unmap(model->side, model->info->side->bytes);
  for (int64_t i = 0; i < model->block_count; i++) env.free(env.user, model->blocks[i].memory);
  if (model->blocks) env.free(env.user, model->blocks);
  env.free(env.user, model);
}
