/* Learns to write, one character after the other, from a text file; saves what it learned, reads it
 * back into a new model, and writes. The model is an LSTM of two layers; a character is a byte.
 * examples/python/chars.py and examples/rust/chars do the same and read each other's weights. It
 * learns from README.md where the repository's root is the current directory, else from --text.
 *
 * Errors: calls are chained and checked once, by `check`, at the end of each piece of work. Memory:
 * frames release every handle made in them, so nothing here is released one by one.
 */
#define _POSIX_C_SOURCE 200809L
#define FLAM_LOAD_IMPLEMENTATION
#include <flambeau/load.h>

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { LAYERS = 2, HIDDEN = 128, FEATURES = 32, WINDOW = 64, BYTES = 256 };
static const double LARGEST_NORM = 1; /* of all gradients together */
static const int64_t ANY = -1;        /* the dimension of a shape that follows from the others */

typedef struct {
  const char *text, *device, *weights, *save, *prompt;
  long epochs, batch_size, seed, length;
  double lr, temperature;
} options;

typedef struct {
  unsigned char *bytes;
  size_t size;
} text;

static void check(void) {
  if (flam_error_code() == FLAM_OK) return;
  fprintf(stderr, "%s\n", flam_error_message());
  exit(1);
}

static void fail(const char *subject, const char *problem) {
  fprintf(stderr, "chars: %s: %s\n", subject, problem);
  exit(1);
}

/* ---- the text ---- */

static text read_text(const char *path) {
  FILE *file = fopen(path, "rb");
  long size = 0;
  if (!file || fseek(file, 0, SEEK_END) || (size = ftell(file)) < 0 || fseek(file, 0, SEEK_SET))
    fail(path, strerror(errno));
  if (size < 2 * WINDOW) fail(path, "is too short to learn from (less than 128 bytes)");
  const text t = {malloc((size_t)size), (size_t)size};
  if (!t.bytes || fread(t.bytes, 1, t.size, file) != t.size || fclose(file))
    fail(path, "cannot be read");
  return t;
}

/* The characters that occur, in order: u8 [n]. */
static flam_tensor *vocabulary_of(text t) {
  unsigned char seen[BYTES] = {0}, used[BYTES];
  int64_t n = 0;
  for (size_t i = 0; i < t.size; ++i) seen[t.bytes[i]] = 1;
  for (int i = 0; i < BYTES; ++i)
    if (seen[i]) used[n++] = (unsigned char)i;
  return flam_tensor_from_data(used, &n, 1, FLAM_U8, NULL);
}

/* Where each character stands in the vocabulary: i64 [size]. */
static flam_tensor *encode(const unsigned char *bytes, size_t size, const flam_tensor *vocabulary) {
  const int64_t words = flam_tensor_numel(vocabulary), n = (int64_t)size;
  unsigned char used[BYTES];
  int64_t place[BYTES], *codes = malloc(size * sizeof *codes);
  if (!codes) fail("text", "out of memory");
  for (int i = 0; i < BYTES; ++i) place[i] = -1;
  flam_tensor_to_host(vocabulary, used, (size_t)words);
  for (int64_t i = 0; i < words; ++i) place[used[i]] = i;
  for (size_t i = 0; i < size; ++i)
    if ((codes[i] = place[bytes[i]]) < 0) fail("--prompt", "has a character the text did not have");
  flam_tensor *encoded = flam_tensor_from_data(codes, &n, 1, FLAM_I64, NULL);
  free(codes);
  return encoded;
}

/* The prompt, i64 [1, n]; without one, the first character of the vocabulary. */
static flam_tensor *encode_prompt(const char *prompt, const flam_tensor *vocabulary) {
  const int64_t row[] = {1, ANY}, one[] = {1, 1};
  flam_creation_options codes = FLAM_CREATION_OPTIONS_INIT;
  codes.dtype = FLAM_I64;
  if (!prompt) return flam_zeros(one, 2, &codes);
  return flam_reshape(encode((const unsigned char *)prompt, strlen(prompt), vocabulary), row, 2);
}

/* ---- the model ---- */

static flam_module *new_model(const flam_tensor *vocabulary, flam_device device) {
  const int64_t words = flam_tensor_numel(vocabulary);
  flam_module *model = flam_nn_sequential();
  flam_nn_recurrent_options lstm = FLAM_NN_RECURRENT_OPTIONS_INIT;
  lstm.num_layers = LAYERS;
  lstm.batch_first = FLAM_TRUE;
  flam_module_set_child(model, "embedding", flam_nn_embedding(words, FEATURES, NULL));
  flam_module_set_child(model, "lstm",
                        flam_nn_recurrent(FLAM_RECURRENT_LSTM, FEATURES, HIDDEN, &lstm));
  flam_module_set_child(model, "head", flam_nn_linear(HIDDEN, words, NULL));
  flam_tensor *bytes = flam_to(vocabulary, FLAM_U8, FLAM_DEVICE_NONE, NULL);
  flam_module_set_buffer(model, "vocabulary", bytes, FLAM_TRUE); /* saved with the weights */
  flam_module_to(model, FLAM_DTYPE_NONE, device, NULL);
  check();
  return model;
}

/* A model as it was saved: the vocabulary among its weights says how large it is. */
static flam_module *load_model(const char *path, flam_device device) {
  flam_state *state = flam_load(path, FLAM_DEVICE_NONE);
  flam_tensor *vocabulary = flam_state_get(state, "vocabulary");
  check();
  if (flam_tensor_numel(vocabulary) > BYTES) fail(path, "has more characters than there are bytes");
  flam_module *model = new_model(vocabulary, device);
  flam_module_load_state_dict(model, state, FLAM_TRUE); /* strict: no name may be missing */
  check();
  return model;
}

/* ---- training ---- */

/* Windows of the text, and the same windows one character later: i64 [n, WINDOW]. */
static flam_loader *windows(text t, const flam_tensor *vocabulary, const options *o) {
  flam_tensor *codes = encode(t.bytes, t.size, vocabulary);
  const int64_t used = (int64_t)(t.size - 1) / WINDOW * WINDOW, shape[] = {ANY, WINDOW};
  const int64_t text_dim = 0, first = 0, second = 1;
  flam_tensor *pair[] = {
      flam_reshape(flam_narrow(codes, text_dim, first, used), shape, 2),
      flam_reshape(flam_narrow(codes, text_dim, second, used), shape, 2),
  };
  flam_loader_options how = FLAM_LOADER_OPTIONS_INIT;
  how.batch_size = o->batch_size;
  how.shuffle = FLAM_TRUE;
  how.seed = (uint64_t)o->seed;
  return flam_loader_new(flam_dataset_from_tensors(pair, 2), &how);
}

/* One step on one batch; the mean loss goes to `total`. False at the end of the epoch. */
static int step(flam_loader *loader, flam_module *model, flam_optimizer *optimizer,
                flam_device device, flam_tensor *total, flam_progress *bar) {
  const flam_scope frame = flam_frame_push();
  flam_tensor_list *items = NULL;
  flam_loader_next(loader, &items, NULL);
  check();
  const int found = items != NULL;
  if (found) {
    const flam_tensor_list *params = flam_module_parameters(model);
    const int64_t rows[] = {ANY, flam_tensor_numel(flam_module_buffer(model, "vocabulary"))};
    flam_tensor *codes = flam_to(flam_tensor_list_get(items, 0), FLAM_I64, device, NULL);
    flam_tensor *following = flam_to(flam_tensor_list_get(items, 1), FLAM_I64, device, NULL);
    flam_tensor *logits = flam_reshape(flam_module_call(model, codes), rows, 2);
    flam_tensor *loss = flam_cross_entropy(logits, flam_flatten(following, NULL), NULL, NULL);
    flam_optimizer_zero_grad(optimizer, FLAM_TRUE); /* set to none */
    flam_backward(loss);
    flam_clip_grad_norm_(FLAM_LIST(params), LARGEST_NORM, NULL);
    flam_optimizer_step(optimizer);
    flam_add_(total, flam_detach(loss)); /* stays on the device: a step never waits for it */
    if (flam_progress_advance(bar, 1)) flam_progress_draw(bar);
    check();
  }
  flam_frame_pop(frame);
  return found;
}

static void train(flam_module *model, flam_loader *loader, flam_device device, const options *o) {
  const flam_tensor_list *params = flam_module_parameters(model);
  const int64_t steps = flam_loader_size(loader);
  flam_adamw_options adamw = FLAM_ADAMW_OPTIONS_INIT;
  flam_progress_options shown = FLAM_PROGRESS_OPTIONS_INIT;
  flam_creation_options there = FLAM_CREATION_OPTIONS_INIT;
  adamw.lr = o->lr;
  flam_optimizer *optimizer = flam_adamw_new(FLAM_LIST(params), &adamw);
  shown.total = steps * o->epochs;
  shown.unit = "steps";
  flam_progress *bar = flam_progress_new(&shown);
  there.device = device;
  fflush(stdout); /* what was printed comes before what the bar writes */
  flam_progress_to_text(bar, STDOUT_FILENO, NULL);
  check();
  for (long epoch = 1; epoch <= o->epochs; ++epoch) {
    const flam_scope frame = flam_frame_push();
    flam_tensor *total = flam_zeros(NULL, 0, &there);
    char line[80];
    double loss = 0;
    while (step(loader, model, optimizer, device, total, bar)) {
    }
    flam_tensor_item_f64(total, &loss);
    sprintf(line, "epoch %3ld/%ld   loss %.4f", epoch, o->epochs, loss / (double)steps);
    if (epoch == 1 || epoch % (o->epochs < 10 ? 1 : o->epochs / 10) == 0)
      flam_progress_say(bar, line);
    check();
    flam_frame_pop(frame);
  }
  flam_progress_finish(bar);
}

/* ---- writing ---- */

/* Feeds characters, i64 [1, n], and gives the logits of what follows, [words]; `state` holds what
 * the LSTM remembers, and is replaced. */
static flam_tensor *next_logits(flam_module *model, flam_tensor *codes, flam_tensor *state[2]) {
  flam_tensor *output = NULL, *before[] = {state[0], state[1]};
  const flam_tensor_list *params = flam_module_parameters(flam_module_child(model, "lstm"));
  flam_tensor *vectors = flam_module_call(flam_module_child(model, "embedding"), codes);
  flam_lstm_options how = FLAM_LSTM_OPTIONS_INIT;
  how.hx = before;
  how.n_hx = 2;
  how.num_layers = LAYERS;
  how.batch_first = FLAM_TRUE;
  flam_lstm(vectors, FLAM_LIST(params), NULL, &output, &state[0], &state[1], &how);
  const int64_t time = 1, last = flam_tensor_size(output, time) - 1;
  output = flam_narrow(output, time, last, 1); /* of [n, time, HIDDEN] */
  return flam_reshape(flam_module_call(flam_module_child(model, "head"), output), &ANY, 1);
}

/* Writes `length` characters after the prompt. Colder is surer; at temperature 0 always the
 * likeliest character follows. */
static void write_text(flam_module *model, flam_device device, const options *o) {
  const flam_scope no_grad = flam_grad_mode_push(FLAM_FALSE);
  const int64_t zeros[] = {LAYERS, 1, HIDDEN}, row[] = {1, ANY}, last = -1;
  const flam_tensor *saved = flam_module_buffer(model, "vocabulary");
  flam_tensor *vocabulary = flam_to(saved, FLAM_U8, FLAM_DEVICE_NONE, NULL);
  flam_creation_options there = FLAM_CREATION_OPTIONS_INIT;
  flam_dim_options likeliest = FLAM_DIM_OPTIONS_INIT;
  unsigned char used[BYTES] = {0};
  there.device = device;
  likeliest.dim = &last;
  likeliest.keepdim = FLAM_TRUE;
  flam_module_train(model, FLAM_FALSE);
  flam_manual_seed((uint64_t)o->seed);
  flam_tensor_to_host(vocabulary, used, (size_t)flam_tensor_numel(vocabulary));
  flam_tensor *codes = flam_to(encode_prompt(o->prompt, vocabulary), FLAM_I64, device, NULL);
  flam_tensor *state[] = {flam_zeros(zeros, 3, &there), flam_zeros(zeros, 3, &there)};
  if (o->prompt)
    fputs(o->prompt, stdout);
  else
    putchar(used[0]);
  for (long i = 0; i < o->length; ++i) {
    const flam_scope frame = flam_frame_push();
    int64_t code = 0;
    flam_tensor *logits = next_logits(model, codes, state);
    codes = o->temperature > 0 ? flam_multinomial(flam_softmax(flam_div_f64(logits, o->temperature),
                                                               last, FLAM_DTYPE_NONE),
                                                  1, NULL)
                               : flam_argmax(logits, &likeliest);
    flam_tensor_item_i64(codes, &code);
    codes = flam_tensor_keep(flam_reshape(codes, row, 2));
    state[0] = flam_tensor_keep(state[0]), state[1] = flam_tensor_keep(state[1]);
    check();
    putchar(used[code]);
    flam_frame_pop(frame);
  }
  putchar('\n');
  flam_scope_pop(no_grad);
}

/* ---- the program ---- */

static void usage(const char *option, const char *problem) {
  if (problem) fprintf(stderr, "chars: %s %s\n", option, problem);
  fputs(
      "usage: chars [--text FILE] [--epochs N] [--batch-size N] [--lr X] [--save FILE]\n"
      "             [--weights FILE] [--prompt TEXT] [--length N] [--temperature X]\n"
      "             [--device NAME] [--seed N]\n",
      problem ? stderr : stdout);
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
  if (s->text) {
    *s->text = value;
    return;
  }
  char *end = NULL;
  errno = 0;
  if (s->number)
    *s->number = strtod(value, &end);
  else
    *s->whole = strtol(value, &end, 10);
  if (*end || end == value || errno)
    usage(s->name, s->number ? "needs a number" : "needs a whole number");
  if (s->number ? !(*s->number >= 0) : *s->whole < s->least)
    usage(s->name, s->least ? "must be at least 1" : "must not be negative");
}

static options arguments(int argc, char **argv) {
  options o = {
      .text = "README.md",
      .device = "auto",
      .save = "build/chars.safetensors",
      .epochs = 30,
      .batch_size = 16,
      .length = 400,
      .lr = 5e-3,
      .temperature = 0.7,
  };
  const setting settings[] = {
      {"--text", .text = &o.text},
      {"--device", .text = &o.device},
      {"--weights", .text = &o.weights},
      {"--save", .text = &o.save},
      {"--prompt", .text = &o.prompt},
      {"--epochs", .whole = &o.epochs, .least = 1},
      {"--batch-size", .whole = &o.batch_size, .least = 1},
      {"--seed", .whole = &o.seed},
      {"--length", .whole = &o.length},
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
  if (o.prompt && !*o.prompt) usage("--prompt", "must not be empty");
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

static void learn(const options *o, flam_device device) {
  const flam_scope frame = flam_frame_push();
  const text t = read_text(o->text);
  flam_tensor *vocabulary = vocabulary_of(t);
  flam_loader *loader = windows(t, vocabulary, o);
  flam_module *model = new_model(vocabulary, device);
  printf("text     %s, %lu bytes, %ld different\n", o->text, (unsigned long)t.size,
         (long)flam_tensor_numel(vocabulary));
  printf("model    LSTM, %ld parameters\n\n", (long)flam_module_numel(model));
  free(t.bytes);
  encode_prompt(o->prompt, vocabulary); /* what it cannot continue is said before it learns */
  train(model, loader, device, o);
  const flam_status saved = flam_save(flam_module_state_dict(model), o->save);
  if (saved == FLAM_OK) printf("saved    %s\n", o->save);
  check();
  flam_frame_pop(frame);
}

int main(int argc, char **argv) {
  const options o = arguments(argc, argv);
  const char *problem = flam_library_load(NULL);
  if (problem) fail("library", problem);
  const flam_scope frame = flam_frame_push();
  flam_manual_seed((uint64_t)o.seed);
  const flam_device device = choose_device(o.device);
  if (!o.weights) learn(&o, device);
  putchar('\n');
  write_text(load_model(o.weights ? o.weights : o.save, device), device, &o);
  return flam_frame_pop(frame);
}
