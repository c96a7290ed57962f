/* Learns to write, one character after the other, from a text file; saves what it learned, reads it
 * back into a new model, and writes. The model is an LSTM of two layers; a character is a byte.
 * examples/python/chars.py and examples/rust/chars do the same and read each other's weights.
 *
 * Errors: calls are chained and checked once, by `check`, at the end of each piece of work. Memory:
 * frames release every handle made in them, so nothing here is released one by one.
 */
#define FLAM_LOAD_IMPLEMENTATION
#include <flambeau/load.h>

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LAYERS = 2, HIDDEN = 128, FEATURES = 32, WINDOW = 64 };

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
  text t = {NULL, 0};
  long size;
  if (!file || fseek(file, 0, SEEK_END) || (size = ftell(file)) < 0 || fseek(file, 0, SEEK_SET))
    fail(path, strerror(errno));
  t.size = (size_t)size;
  if (t.size < 2 * WINDOW) fail(path, "is too short to learn from (less than 128 bytes)");
  t.bytes = malloc(t.size);
  if (!t.bytes || fread(t.bytes, 1, t.size, file) != t.size || fclose(file))
    fail(path, "cannot be read");
  return t;
}

/* The characters that occur, in order: u8 [n]. */
static flam_tensor *vocabulary_of(text t) {
  unsigned char seen[256] = {0}, used[256];
  int64_t n = 0;
  size_t i;
  for (i = 0; i < t.size; ++i) seen[t.bytes[i]] = 1;
  for (i = 0; i < 256; ++i)
    if (seen[i]) used[n++] = (unsigned char)i;
  return flam_tensor_from_data(used, &n, 1, FLAM_U8, NULL);
}

/* Where each character stands in the vocabulary: i64 [size]. */
static flam_tensor *encode(const unsigned char *bytes, size_t size, const flam_tensor *vocabulary) {
  unsigned char used[256];
  int64_t place[256], *codes = malloc(size * sizeof *codes), n = (int64_t)size, i;
  const int64_t words = flam_tensor_numel(vocabulary);
  flam_tensor *encoded;
  if (!codes) fail("text", "out of memory");
  for (i = 0; i < 256; ++i) place[i] = -1;
  flam_tensor_to_host(vocabulary, used, (size_t)words);
  for (i = 0; i < words; ++i) place[used[i]] = i;
  for (i = 0; i < n; ++i)
    if ((codes[i] = place[bytes[i]]) < 0) fail("--prompt", "has a character the text did not have");
  encoded = flam_tensor_from_data(codes, &n, 1, FLAM_I64, NULL);
  free(codes);
  return encoded;
}

/* The prompt, i64 [1, n]; without one, the first character of the vocabulary. */
static flam_tensor *encode_prompt(const char *prompt, const flam_tensor *vocabulary) {
  const int64_t row[] = {1, -1}, one[] = {1, 1};
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
  lstm.batch_first = 1;
  flam_module_set_child(model, "embedding", flam_nn_embedding(words, FEATURES, NULL));
  flam_module_set_child(model, "lstm",
                        flam_nn_recurrent(FLAM_RECURRENT_LSTM, FEATURES, HIDDEN, &lstm));
  flam_module_set_child(model, "head", flam_nn_linear(HIDDEN, words, NULL));
  flam_module_set_buffer(model, "vocabulary", flam_to(vocabulary, FLAM_U8, 0, NULL), 1);
  flam_module_to(model, FLAM_DTYPE_NONE, device, NULL);
  check();
  return model;
}

/* A model as it was saved: the vocabulary among its weights says how large it is. */
static flam_module *load_model(const char *path, flam_device device) {
  flam_state *state = flam_load(path, 0);
  flam_tensor *vocabulary = flam_state_get(state, "vocabulary");
  flam_module *model;
  check();
  if (flam_tensor_numel(vocabulary) > 256) fail(path, "has more characters than there are bytes");
  model = new_model(vocabulary, device);
  flam_module_load_state_dict(model, state, 1);
  check();
  return model;
}

/* ---- training ---- */

/* Windows of the text, and the same windows one character later: i64 [n, WINDOW]. */
static flam_loader *windows(text t, const flam_tensor *vocabulary, const options *o) {
  flam_tensor *codes = encode(t.bytes, t.size, vocabulary);
  const int64_t n = (int64_t)(t.size - 1) / WINDOW, shape[] = {-1, WINDOW};
  flam_tensor *pair[2];
  flam_loader_options how;
  int i;
  for (i = 0; i < 2; ++i) pair[i] = flam_reshape(flam_narrow(codes, 0, i, n * WINDOW), shape, 2);
  flam_loader_options_init(&how);
  how.batch_size = o->batch_size;
  how.shuffle = 1;
  how.seed = (uint64_t)o->seed;
  return flam_loader_new(flam_dataset_from_tensors(pair, 2), &how);
}

/* One step on one batch; the mean loss goes to `total`. False at the end of the epoch. */
static int step(flam_loader *loader, flam_module *model, flam_optimizer *optimizer,
                flam_device device, flam_tensor *total, flam_progress *bar) {
  const flam_scope frame = flam_frame_push();
  const flam_tensor_list *params = flam_module_parameters(model);
  flam_tensor *codes, *following, *logits, *loss;
  flam_tensor_list *items = NULL;
  int found;
  flam_loader_next(loader, &items, NULL);
  check();
  found = items != NULL;
  if (found) {
    const int64_t rows[] = {-1, flam_tensor_numel(flam_module_buffer(model, "vocabulary"))};
    codes = flam_to(flam_tensor_list_get(items, 0), FLAM_I64, device, NULL);
    following = flam_to(flam_tensor_list_get(items, 1), FLAM_I64, device, NULL);
    logits = flam_reshape(flam_module_call(model, codes), rows, 2);
    loss = flam_cross_entropy(logits, flam_flatten(following, NULL), NULL, NULL);
    flam_optimizer_zero_grad(optimizer, 1);
    flam_backward(loss);
    flam_clip_grad_norm_(FLAM_LIST(params), 1, NULL);
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
  flam_optimizer *optimizer;
  flam_progress *bar;
  long epoch;
  adamw.lr = o->lr;
  optimizer = flam_adamw_new(FLAM_LIST(params), &adamw);
  shown.total = steps * o->epochs;
  shown.unit = "steps";
  bar = flam_progress_new(&shown);
  there.device = device;
  fflush(stdout); /* what was printed comes before what the bar writes */
  flam_progress_to_text(bar, 1, NULL);
  check();
  for (epoch = 1; epoch <= o->epochs; ++epoch) {
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
  const int64_t words = -1;
  flam_tensor *output = NULL, *before[2];
  const flam_tensor_list *params = flam_module_parameters(flam_module_child(model, "lstm"));
  flam_tensor *vectors = flam_module_call(flam_module_child(model, "embedding"), codes);
  flam_lstm_options how = FLAM_LSTM_OPTIONS_INIT;
  how.hx = before;
  how.n_hx = 2;
  how.num_layers = LAYERS;
  how.batch_first = 1;
  before[0] = state[0], before[1] = state[1];
  flam_lstm(vectors, FLAM_LIST(params), NULL, &output, &state[0], &state[1], &how);
  output = flam_narrow(output, 1, flam_tensor_size(output, 1) - 1, 1);
  return flam_reshape(flam_module_call(flam_module_child(model, "head"), output), &words, 1);
}

/* Writes `length` characters after the prompt. Colder is surer; at temperature 0 always the
 * likeliest character follows. */
static void write_text(flam_module *model, flam_device device, const options *o) {
  const flam_scope no_grad = flam_grad_mode_push(0);
  const int64_t zeros[] = {LAYERS, 1, HIDDEN}, row[] = {1, -1};
  flam_tensor *vocabulary = flam_to(flam_module_buffer(model, "vocabulary"), FLAM_U8, 0, NULL);
  flam_tensor *state[2], *codes;
  flam_creation_options there = FLAM_CREATION_OPTIONS_INIT;
  flam_dim_options likeliest = FLAM_DIM_OPTIONS_INIT;
  const int64_t last = -1;
  unsigned char used[256] = {0};
  long i;
  there.device = device;
  likeliest.dim = &last;
  likeliest.keepdim = 1;
  flam_module_train(model, 0);
  flam_manual_seed((uint64_t)o->seed);
  flam_tensor_to_host(vocabulary, used, (size_t)flam_tensor_numel(vocabulary));
  codes = flam_to(encode_prompt(o->prompt, vocabulary), FLAM_I64, device, NULL);
  for (i = 0; i < 2; ++i) state[i] = flam_zeros(zeros, 3, &there);
  if (o->prompt)
    fputs(o->prompt, stdout);
  else
    putchar(used[0]);
  for (i = 0; i < o->length; ++i) {
    const flam_scope frame = flam_frame_push();
    int64_t code = 0;
    flam_tensor *logits = next_logits(model, codes, state);
    codes = o->temperature > 0
                ? flam_multinomial(flam_softmax(flam_div_f64(logits, o->temperature), last,
                                                FLAM_DTYPE_NONE), 1, NULL)
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
  fputs("usage: chars [--text FILE] [--epochs N] [--batch-size N] [--lr X] [--save FILE]\n"
        "             [--weights FILE] [--prompt TEXT] [--length N] [--temperature X]\n"
        "             [--device NAME] [--seed N]\n",
        problem ? stderr : stdout);
  exit(problem ? 2 : 0);
}

static double number(const char *option, const char *given, double least) {
  char *end = NULL;
  const double value = strtod(given, &end);
  if (*end || end == given) usage(option, "needs a number");
  if (!(value >= least)) usage(option, least > 0 ? "must be at least 1" : "must not be negative");
  return value;
}

static long whole(const char *option, const char *given, long least) {
  const double value = number(option, given, (double)least);
  if (value > 1e9 || value != (double)(long)value) usage(option, "needs a whole number");
  return (long)value;
}

static options arguments(int argc, char **argv) {
  options o = {"README.md", "auto", NULL, "build/chars.safetensors", NULL, 30, 16, 0, 400, 5e-3,
               0.7};
  int i;
  for (i = 1; i < argc; ++i) {
    const char *name = argv[i], *value = i + 1 < argc ? argv[i + 1] : NULL;
    if (strcmp(name, "--help") == 0 || strcmp(name, "-h") == 0) usage(name, NULL);
    if (strncmp(name, "--", 2) == 0 && !value) usage(name, "needs a value");
    if (strcmp(name, "--text") == 0) o.text = value;
    else if (strcmp(name, "--device") == 0) o.device = value;
    else if (strcmp(name, "--weights") == 0) o.weights = value;
    else if (strcmp(name, "--save") == 0) o.save = value;
    else if (strcmp(name, "--prompt") == 0) o.prompt = value;
    else if (strcmp(name, "--epochs") == 0) o.epochs = whole(name, value, 1);
    else if (strcmp(name, "--batch-size") == 0) o.batch_size = whole(name, value, 1);
    else if (strcmp(name, "--seed") == 0) o.seed = whole(name, value, 0);
    else if (strcmp(name, "--length") == 0) o.length = whole(name, value, 0);
    else if (strcmp(name, "--lr") == 0) o.lr = number(name, value, 0);
    else if (strcmp(name, "--temperature") == 0) o.temperature = number(name, value, 0);
    else usage(name, "is unknown");
    ++i;
  }
  if (o.prompt && !*o.prompt) usage("--prompt", "must not be empty");
  return o;
}

/* The device asked for, or a GPU if there is one. */
static flam_device choose_device(const char *name) {
  flam_device device =
      flam_device_make(flam_device_is_available(FLAM_CUDA) ? FLAM_CUDA : FLAM_CPU, 0);
  if (strcmp(name, "auto") != 0) flam_device_parse(name, &device);
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
  flam_device device;
  flam_scope frame;
  if (problem) fail("library", problem);
  frame = flam_frame_push();
  flam_manual_seed((uint64_t)o.seed);
  device = choose_device(o.device);
  if (!o.weights) learn(&o, device);
  putchar('\n');
  write_text(load_model(o.weights ? o.weights : o.save, device), device, &o);
  return flam_frame_pop(frame);
}
