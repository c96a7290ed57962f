/* GPT-2 at a small size: learns to write from the bytes of a text, saves what it learned, and
 * writes. It is the model of examples/python/gpt2.py, which learns with the same losses from the
 * same options, and reads the same weights: those of OpenAI's checkpoint, whatever its size.
 *
 *     cc -std=c99 -I include examples/c/gpt.c -ldl -lm -o build/gpt
 *
 * It learns from README.md where the repository's root is the current directory, else from --text.
 *
 * Errors: calls are chained and checked once, by `check`, at the end of each piece of work. Memory:
 * frames release every handle made in them, so nothing here is released one by one.
 */
#define FLAM_LOAD_IMPLEMENTATION
#include <flambeau/load.h>

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { BYTES = 256, BEGINNING = 8 };  /* of the text, in words, which it continues */
static const double LARGEST_NORM = 1; /* of all gradients together */
static const double DECAY = 0.1;      /* of what has two dimensions */
static const int64_t ANY = -1;        /* the dimension of a shape that follows from the others */

/* The parameters in the order in which they are drawn: two, those of each block, and two more. */
enum { WTE, WPE, FIRST_BLOCK };
enum {
  LN_1,
  LN_1_BIAS,
  ATTN,
  ATTN_BIAS,
  PROJ,
  PROJ_BIAS,
  LN_2,
  LN_2_BIAS,
  FC,
  FC_BIAS,
  OUT,
  OUT_BIAS,
  PER_BLOCK
};
static const char *const NAMES[PER_BLOCK] = {
    "ln_1.weight",        "ln_1.bias",        "attn.c_attn.weight", "attn.c_attn.bias",
    "attn.c_proj.weight", "attn.c_proj.bias", "ln_2.weight",        "ln_2.bias",
    "mlp.c_fc.weight",    "mlp.c_fc.bias",    "mlp.c_proj.weight",  "mlp.c_proj.bias",
};

typedef struct {
  const char *text, *device, *dtype, *weights, *save;
  long steps, batch_size, warmup, report, context, layers, heads, width, length, seed;
  double lr, temperature;
} options;

typedef struct {
  long vocabulary, context, layers, heads, width;
  flam_state *parameters;
} model;

static void check(void) {
  if (flam_error_code() == FLAM_OK) return;
  fprintf(stderr, "%s\n", flam_error_message());
  exit(1);
}

static void fail(const char *subject, const char *problem) {
  fprintf(stderr, "gpt: %s: %s\n", subject, problem);
  exit(1);
}

/* ---- the text ---- */

/* The byte of each of the first 256 words of GPT-2's vocabulary: those that print come first. */
static void spell(unsigned char byte_of[BYTES]) {
  int n = 0;
  for (int pass = 0; pass < 2; ++pass)
    for (int b = 0; b < BYTES; ++b) {
      const int prints = (b > 32 && b < 127) || (b > 160 && b < 173) || b > 173;
      if (prints == !pass) byte_of[n++] = (unsigned char)b;
    }
}

/* The words of a text: i64 [*size]. */
static int64_t *read_text(const char *path, long context, int64_t *size) {
  FILE *file = fopen(path, "rb");
  unsigned char byte_of[BYTES];
  int64_t word_of[BYTES];
  long bytes = 0;
  if (!file || fseek(file, 0, SEEK_END) || (bytes = ftell(file)) < 0 || fseek(file, 0, SEEK_SET))
    fail(path, strerror(errno));
  if (bytes < 4 * context) fail(path, "is shorter than four windows of --context bytes");
  int64_t *words = malloc((size_t)bytes * sizeof *words);
  if (!words) fail(path, "out of memory");
  spell(byte_of);
  for (int i = 0; i < BYTES; ++i) word_of[byte_of[i]] = i;
  for (long i = 0, c; i < bytes; ++i) {
    if ((c = getc(file)) == EOF) fail(path, "cannot be read");
    words[i] = word_of[c];
  }
  fclose(file);
  *size = bytes;
  return words;
}

/* ---- parameters ---- */

static long count_of(const model *m) { return FIRST_BLOCK + m->layers * PER_BLOCK + 2; }

/* A parameter's name in the checkpoint; valid until the next call. */
static const char *name_of(const model *m, long i) {
  static char name[64];
  const long block = (i - FIRST_BLOCK) / PER_BLOCK;
  if (i < FIRST_BLOCK) return i == WTE ? "wte.weight" : "wpe.weight";
  if (block == m->layers) return i == count_of(m) - 1 ? "ln_f.bias" : "ln_f.weight";
  sprintf(name, "h.%ld.%s", block, NAMES[(i - FIRST_BLOCK) % PER_BLOCK]);
  return name;
}

static int ends(const char *name, const char *end) {
  const size_t n = strlen(name), k = strlen(end);
  return n >= k && strcmp(name + n - k, end) == 0;
}

static int is_product(const char *name) { return strstr(name, ".c_") && ends(name, "weight"); }

static flam_tensor *parameter(const model *m, long i) {
  return flam_state_data(m->parameters)[i]; /* borrowed */
}

/* Writes the shape of a parameter, and returns how many dimensions it has. */
static size_t shape_of(const model *m, long i, int64_t shape[2]) {
  const long which = (i - FIRST_BLOCK) % PER_BLOCK;
  const char *name = name_of(m, i);
  shape[0] = shape[1] = m->width;
  if (i == WTE) shape[0] = m->vocabulary;
  if (i == WPE) shape[0] = m->context;
  if (strstr(name, "c_attn")) shape[0] *= 3;
  if (strstr(name, "c_fc")) shape[0] *= 4;
  if (i >= FIRST_BLOCK && which == OUT) shape[1] *= 4;
  return i < FIRST_BLOCK || is_product(name) ? 2 : 1;
}

/* Parameters as GPT-2's begin: normal numbers, those of products that go into the residual stream
 * smaller by the root of how many there are. */
static void initialize(model *m, long seed) {
  flam_generator *generator = flam_generator_new(FLAM_DEVICE_NONE);
  flam_generator_manual_seed(generator, (uint64_t)seed);
  for (long i = 0; i < count_of(m); ++i) {
    const char *name = name_of(m, i);
    int64_t shape[2];
    const size_t dims = shape_of(m, i, shape);
    const int is_scale = dims == 1 && ends(name, "weight");
    flam_tensor *p = is_scale ? flam_ones(shape, dims, NULL) : flam_zeros(shape, dims, NULL);
    flam_normal_options normal = FLAM_NORMAL_OPTIONS_INIT;
    normal.std = i == WPE ? 0.01 : 0.02;
    if (strstr(name, "c_proj")) normal.std /= sqrt(2.0 * (double)m->layers);
    normal.generator = generator;
    if (dims == 2) flam_init_normal(p, &normal);
    flam_state_set(m->parameters, name, p);
  }
  check();
}

/* Parameters of a file, whose tensors say how large the model is. The checkpoint has the weights of
 * products turned: [inputs, outputs]. */
static void load(model *m, const char *path) {
  const flam_state *file = flam_load(path, FLAM_DEVICE_NONE);
  const flam_tensor *wte = flam_state_get(file, "wte.weight");
  const flam_tensor *wpe = flam_state_get(file, "wpe.weight");
  check();
  m->vocabulary = (long)flam_tensor_size(wte, 0);
  m->width = (long)flam_tensor_size(wte, 1);
  m->context = (long)flam_tensor_size(wpe, 0);
  m->layers = 0;
  for (size_t i = 0; i < flam_state_size(file); ++i)
    m->layers += ends(flam_state_name(file, i), ".ln_1.weight");
  if (m->vocabulary < BYTES) fail(path, "knows fewer words than there are bytes");
  for (long i = 0; i < count_of(m); ++i) {
    const char *name = name_of(m, i);
    const flam_tensor *saved =
        flam_to(flam_state_get(file, name), FLAM_F32, FLAM_DEVICE_NONE, NULL);
    int64_t shape[2];
    const size_t dims = shape_of(m, i, shape);
    if (is_product(name)) saved = flam_contiguous(flam_t(saved));
    check();
    if (flam_tensor_dim(saved) != (int64_t)dims || flam_tensor_size(saved, 0) != shape[0])
      fail(name, "has another shape than the sizes of wte.weight and wpe.weight give it");
    flam_state_set(m->parameters, name, saved);
  }
  check();
}

static void save(const model *m, const char *path) {
  flam_state *file = flam_state_new();
  for (long i = 0; i < count_of(m); ++i) {
    const char *name = name_of(m, i);
    const flam_tensor *p = flam_detach(parameter(m, i));
    flam_state_set(file, name, is_product(name) ? flam_contiguous(flam_t(p)) : p);
  }
  flam_save(file, path);
  check();
  printf("saved    %s\n", path);
}

static model new_model(const options *o, flam_device device) {
  model m = {BYTES, o->context, o->layers, o->heads, o->width, flam_state_new()};
  if (o->weights)
    load(&m, o->weights);
  else
    initialize(&m, o->seed);
  if (!m.heads) m.heads = m.width < 64 ? 1 : m.width / 64; /* as of GPT-2's four sizes */
  if (m.width % m.heads) fail("--heads", "must divide the width");
  for (long i = 0; i < count_of(&m); ++i) {
    flam_tensor *p = flam_to(parameter(&m, i), FLAM_F32, device, NULL);
    flam_tensor_set_requires_grad(p, FLAM_TRUE);
    flam_state_set(m.parameters, name_of(&m, i), p);
  }
  check();
  return m;
}

/* ---- the model ---- */

static flam_tensor *norm(const model *m, flam_tensor *x, long scale) {
  const int64_t width = m->width;
  return flam_layer_norm(x, &width, 1, parameter(m, scale), parameter(m, scale + 1), 1e-5);
}

static flam_tensor *linear(const model *m, flam_tensor *x, long weight) {
  return flam_linear(x, parameter(m, weight), parameter(m, weight + 1));
}

/* What follows a block, [n, length, width]. */
static flam_tensor *block(const model *m, flam_tensor *x, long first) {
  const int64_t n = flam_tensor_size(x, 0), length = flam_tensor_size(x, 1), last = 2;
  const int64_t split[] = {n, length, 3, m->heads, ANY}, order[] = {2, 0, 3, 1, 4};
  const int64_t joined[] = {n, length, m->width};
  flam_scaled_dot_product_attention_options how = FLAM_SCALED_DOT_PRODUCT_ATTENTION_OPTIONS_INIT;
  how.is_causal = FLAM_TRUE;
  flam_tensor *qkv = linear(m, norm(m, x, first + LN_1), first + ATTN);
  qkv = flam_permute(flam_reshape(qkv, split, 5), order, 5);
  flam_tensor *y = flam_scaled_dot_product_attention(flam_select(qkv, 0, 0), flam_select(qkv, 0, 1),
                                                     flam_select(qkv, 0, 2), NULL, &how);
  y = flam_reshape(flam_transpose(y, 1, last), joined, 3);
  x = flam_add(x, linear(m, y, first + PROJ));
  y = linear(m, norm(m, x, first + LN_2), first + FC);
  return flam_add(x, linear(m, flam_gelu(y, FLAM_GELU_TANH), first + OUT));
}

/* Words in, i64 [n, length]; what the last layer turns into logits out, [n, length, width]. */
static flam_tensor *hidden(const model *m, const flam_tensor *words) {
  flam_tensor *places = flam_narrow(parameter(m, WPE), 0, 0, flam_tensor_size(words, 1));
  flam_tensor *x = flam_add(flam_embedding(words, parameter(m, WTE), NULL), places);
  for (long i = 0; i < m->layers; ++i) x = block(m, x, FIRST_BLOCK + i * PER_BLOCK);
  return norm(m, x, FIRST_BLOCK + m->layers * PER_BLOCK);
}

/* ---- training ---- */

/* Windows of the text, one pass after the other, each in an order of its own. */
typedef struct {
  const int64_t *words;
  int64_t *order, count, context, taken;
  flam_generator *generator;
} windows;

static windows new_windows(const int64_t *words, int64_t size, long context, long seed) {
  windows w = {words, NULL, (size - 1) / context, context, 0, flam_generator_new(FLAM_DEVICE_NONE)};
  flam_generator_manual_seed(w.generator, (uint64_t)seed);
  w.order = malloc((size_t)w.count * sizeof *w.order);
  if (!w.order) fail("text", "out of memory");
  w.taken = w.count; /* the first pass is drawn when it begins */
  return w;
}

static const int64_t *next_window(windows *w) {
  if (w->taken == w->count) {
    flam_randint_options how = FLAM_RANDINT_OPTIONS_INIT;
    how.generator = w->generator;
    flam_tensor_to_host(flam_randperm(w->count, &how), w->order,
                        (size_t)w->count * sizeof *w->order);
    check();
    w->taken = 0;
  }
  return w->words + w->order[w->taken++] * w->context;
}

/* A batch and the same a word later: i64 [n, context] on the device. */
static void next_batch(windows *w, long n, flam_device device, flam_tensor *batch[2]) {
  const int64_t shape[] = {n, w->context};
  const size_t row = (size_t)w->context;
  int64_t *rows = malloc(2 * (size_t)n * row * sizeof *rows);
  if (!rows) fail("text", "out of memory");
  for (size_t i = 0; i < (size_t)n; ++i) {
    const int64_t *window = next_window(w);
    memcpy(rows + i * row, window, row * sizeof *rows);
    memcpy(rows + ((size_t)n + i) * row, window + 1, row * sizeof *rows);
  }
  for (int later = 0; later < 2; ++later) {
    flam_tensor *t = flam_tensor_from_data(rows + later * n * w->context, shape, 2, FLAM_I64, NULL);
    batch[later] = flam_to(t, FLAM_I64, device, NULL);
  }
  free(rows);
}

/* The mean loss of a batch; products are made in `dtype`. */
static flam_tensor *loss_of(const model *m, flam_tensor *batch[2], flam_device_type type,
                            flam_dtype dtype) {
  const int64_t rows[] = {ANY, m->width};
  flam_linear_cross_entropy_options how = FLAM_LINEAR_CROSS_ENTROPY_OPTIONS_INIT;
  flam_autocast_push_options lower = FLAM_AUTOCAST_PUSH_OPTIONS_INIT;
  flam_scope scope;
  lower.dtype = dtype;
  lower.enabled = dtype != FLAM_F32;
  how.chunk_rows = 2048; /* all logits at once would be the largest tensor of a step */
  flam_autocast_push(type, &scope, &lower);
  flam_tensor *x = flam_reshape(hidden(m, batch[0]), rows, 2);
  flam_tensor *loss = flam_linear_cross_entropy(x, parameter(m, WTE), flam_flatten(batch[1], NULL),
                                                NULL, NULL, &how);
  flam_scope_pop(scope);
  return loss;
}

/* AdamW, whose decay is for what has two dimensions. */
static flam_optimizer *new_optimizer(const model *m, double lr) {
  const size_t count = (size_t)count_of(m);
  flam_tensor **decayed = malloc(2 * count * sizeof *decayed), **others = decayed + count;
  flam_adamw_options adamw = FLAM_ADAMW_OPTIONS_INIT;
  size_t n_decayed = 0, n_others = 0;
  if (!decayed) fail("optimizer", "out of memory");
  for (size_t i = 0; i < count; ++i) {
    flam_tensor *p = parameter(m, (long)i);
    if (flam_tensor_dim(p) == 2)
      decayed[n_decayed++] = p;
    else
      others[n_others++] = p;
  }
  adamw.lr = lr;
  adamw.beta2 = 0.95;
  adamw.weight_decay = DECAY;
  flam_optimizer *optimizer = flam_adamw_new(decayed, n_decayed, &adamw);
  flam_optimizer_add_group(optimizer, others, n_others, lr, 0);
  free(decayed);
  return optimizer;
}

/* The learning rate: up on a line, then down to a tenth along a cosine. */
static flam_scheduler *new_schedule(flam_optimizer *optimizer, const options *o) {
  const long rest = o->steps > o->warmup ? o->steps - o->warmup : 1;
  flam_linear_lr_options rise = FLAM_LINEAR_LR_OPTIONS_INIT;
  rise.start_factor = 1 / (double)(o->warmup + 1);
  rise.total_iters = o->warmup;
  if (o->warmup == 0) return flam_cosine_annealing_lr_new(optimizer, rest, o->lr / 10);
  flam_scheduler *up = flam_linear_lr_new(optimizer, &rise);
  flam_scheduler *down = flam_cosine_annealing_lr_new(optimizer, rest, o->lr / 10);
  flam_scheduler *both = flam_sequential_lr_new(up);
  flam_scheduler_append(both, down, o->warmup);
  return both;
}

static void train(const model *m, windows *w, flam_device device, flam_dtype dtype,
                  const options *o) {
  flam_optimizer *optimizer = new_optimizer(m, o->lr);
  flam_scheduler *schedule = new_schedule(optimizer, o);
  for (long step = 1; step <= o->steps; ++step) {
    const flam_scope frame = flam_frame_push();
    double value = 0;
    flam_tensor *batch[2];
    next_batch(w, o->batch_size, device, batch);
    flam_tensor *loss = loss_of(m, batch, flam_device_type_of(device), dtype);
    flam_backward(loss);
    flam_clip_grad_norm_(FLAM_STATE(m->parameters), LARGEST_NORM, NULL);
    flam_optimizer_step(optimizer);
    flam_optimizer_zero_grad(optimizer, FLAM_TRUE); /* set to none */
    flam_scheduler_step(schedule);
    if (step == 1 || step == o->steps || step % o->report == 0) { /* waits for the device */
      flam_tensor_item_f64(loss, &value);
      printf("step %5ld   loss %.6f\n", step, value);
      fflush(stdout);
    }
    check();
    flam_frame_pop(frame);
  }
}

/* ---- writing ---- */

/* Continues the beginning of the text by `length` words. Colder is surer; at temperature 0 always
 * the likeliest word follows. Words that are no bytes are written as their numbers. */
static void write_text(const model *m, const int64_t *text, flam_device device, const options *o) {
  const flam_scope no_grad = flam_grad_mode_push(FLAM_FALSE);
  const int64_t last = -1;
  const long size = BEGINNING + o->length;
  int64_t *words = malloc((size_t)size * sizeof *words);
  unsigned char byte_of[BYTES];
  flam_dim_options likeliest = FLAM_DIM_OPTIONS_INIT;
  likeliest.dim = &last;
  likeliest.keepdim = FLAM_TRUE;
  if (!words) fail("--length", "out of memory");
  memcpy(words, text, BEGINNING * sizeof *words);
  flam_manual_seed((uint64_t)o->seed);
  for (long i = BEGINNING; i < size; ++i) {
    const flam_scope frame = flam_frame_push();
    const long seen = i < m->context ? i : m->context;
    const int64_t shape[] = {1, seen};
    flam_tensor *row = flam_tensor_from_data(words + i - seen, shape, 2, FLAM_I64, NULL);
    flam_tensor *x = hidden(m, flam_to(row, FLAM_I64, device, NULL));
    flam_tensor *logits = flam_linear(x, parameter(m, WTE), NULL);
    logits = flam_select(flam_select(logits, 0, 0), 0, last);
    flam_tensor *word = o->temperature > 0
                            ? flam_multinomial(flam_softmax(flam_div_f64(logits, o->temperature),
                                                            last, FLAM_DTYPE_NONE),
                                               1, NULL)
                            : flam_argmax(logits, &likeliest);
    flam_tensor_item_i64(word, &words[i]);
    check();
    flam_frame_pop(frame);
  }
  spell(byte_of);
  putchar('\n');
  for (long i = 0; i < size; ++i)
    if (words[i] < BYTES)
      putchar(byte_of[words[i]]);
    else
      printf("<%ld>", (long)words[i]);
  putchar('\n');
  free(words);
  flam_scope_pop(no_grad);
}

/* ---- the program ---- */

static void usage(const char *option, const char *problem) {
  fputs(
      "usage: gpt [--text FILE] [--steps N] [--batch-size N] [--lr X] [--warmup N] [--report N]\n"
      "           [--context N] [--layers N] [--heads N] [--width N] [--dtype f32|bf16]\n"
      "           [--weights FILE] [--save FILE] [--length N] [--temperature X]\n"
      "           [--device NAME] [--seed N]\n",
      problem ? stderr : stdout);
  if (problem) fprintf(stderr, "gpt: %s %s\n", option, problem);
  exit(problem ? 2 : 0);
}

/* What the command line may set, and how. */
typedef struct {
  const char *name;
  const char **text;
  long *whole;
  long least;
  double *number;
} setting;

/* Numbers are checked before anything is trained. */
static void set(const setting *s, const char *value) {
  char *end = NULL;
  errno = 0;
  if (s->text) {
    *s->text = value;
    return;
  }
  if (s->number)
    *s->number = strtod(value, &end);
  else
    *s->whole = strtol(value, &end, 10);
  if (*end || end == value || errno)
    usage(s->name, s->number ? "needs a number" : "needs a whole number");
  if (s->number ? !(*s->number >= 0) : *s->whole < s->least)
    usage(s->name, s->least > 1 ? "must be at least 2"
                   : s->least   ? "must be at least 1"
                                : "must not be negative");
}

static options arguments(int argc, char **argv) {
  options o = {.text = "README.md",
               .device = "auto",
               .dtype = "f32",
               .steps = 300,
               .batch_size = 16,
               .warmup = 20,
               .report = 10,
               .context = 64,
               .layers = 4,
               .width = 128,
               .length = 400,
               .lr = 3e-3,
               .temperature = 0.8};
  const setting settings[] = {
      {"--text", .text = &o.text},
      {"--device", .text = &o.device},
      {"--dtype", .text = &o.dtype},
      {"--weights", .text = &o.weights},
      {"--save", .text = &o.save},
      {"--steps", .whole = &o.steps, .least = 1},
      {"--batch-size", .whole = &o.batch_size, .least = 1},
      {"--report", .whole = &o.report, .least = 1},
      {"--context", .whole = &o.context, .least = 2},
      {"--layers", .whole = &o.layers, .least = 1},
      {"--heads", .whole = &o.heads, .least = 1},
      {"--width", .whole = &o.width, .least = 1},
      {"--warmup", .whole = &o.warmup},
      {"--length", .whole = &o.length},
      {"--seed", .whole = &o.seed},
      {"--lr", .number = &o.lr},
      {"--temperature", .number = &o.temperature},
  };
  const setting *end = settings + sizeof settings / sizeof *settings;
  for (int i = 1; i < argc; ++i) {
    const setting *s = settings;
    if (strcmp(argv[i], "--help") == 0 || strcmp(argv[i], "-h") == 0) usage(argv[i], NULL);
    while (s != end && strcmp(argv[i], s->name) != 0) ++s;
    if (s == end) usage(argv[i], "is unknown");
    if (++i == argc) usage(s->name, "needs a value");
    set(s, argv[i]);
  }
  if (strcmp(o.dtype, "f32") != 0 && strcmp(o.dtype, "bf16") != 0)
    usage("--dtype", "must be f32 or bf16");
  if (o.save && !ends(o.save, ".safetensors")) usage("--save", "must end with .safetensors");
  return o;
}

/* The device asked for, or a GPU if there is one. */
static flam_device choose_device(const char *name) {
  flam_device device =
      flam_device_make(flam_device_is_available(FLAM_CUDA) ? FLAM_CUDA : FLAM_CPU, 0);
  if (strcmp(name, "auto") != 0) flam_device_parse(name, &device);
  if (flam_device_type_of(device) == FLAM_CUDA && flam_device_index_of(device) < 0)
    device = flam_device_current(FLAM_CUDA);
  check();
  printf("device   %s\n", flam_device_name(device));
  return device;
}

int main(int argc, char **argv) {
  const options o = arguments(argc, argv);
  const char *problem = flam_library_load(NULL);
  if (problem) fail("library", problem);
  const flam_scope frame = flam_frame_push();
  const flam_device device = choose_device(o.device);
  const model m = new_model(&o, device);
  const long context = o.context < m.context ? o.context : m.context;
  int64_t size = 0, parameters = 0;
  int64_t *text = read_text(o.text, context, &size);
  for (long i = 0; i < count_of(&m); ++i) parameters += flam_tensor_numel(parameter(&m, i));
  printf("model    GPT-2, %ld layer%s, width %ld, vocabulary %ld, %ld parameters\n", m.layers,
         m.layers == 1 ? "" : "s", m.width, m.vocabulary, (long)parameters);
  const int64_t tenth = size - size * 9 / 10, window = context + 1;
  windows w = new_windows(text, size - (tenth > window ? tenth : window), context, o.seed);
  train(&m, &w, device, strcmp(o.dtype, "f32") == 0 ? FLAM_F32 : FLAM_BF16, &o);
  if (o.save) save(&m, o.save);
  write_text(&m, text, device, &o);
  free(w.order);
  free(text);
  return flam_frame_pop(frame);
}
