/* Trains a classifier of handwritten digits, scores it on held-out images, and saves its weights:
 * the C form of examples/python/digits.py, with the same data, model, optimizer and report. It
 * knows only flambeau's headers and opens the library when it starts. It looks for the data where
 * the repository's root is the current directory; --data names it elsewhere.
 *
 * Errors: calls are chained and checked once, by `check`, at the end of each piece of work. Memory:
 * frames release every handle made in them, so nothing here is released one by one.
 */
#define _POSIX_C_SOURCE 200809L
#define FLAM_LOAD_IMPLEMENTATION
#include <flambeau/load.h>

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define SMOOTHING 0.1 /* of labels while training: worth a percent of accuracy on so few images */

enum { SIDE = 8, PIXELS = SIDE * SIDE, HIDDEN = 256, CLASSES = 10, WHITE = 240 };

typedef struct {
  const char *device, *data, *weights, *save, *logits, *plot;
  long conv, epochs, batch_size, seed, threads, workers;
  double lr;
} options;

typedef struct {
  flam_tensor *images; /* f32 [n, 1, 8, 8], from 0 to 1 */
  flam_tensor *labels; /* i64 [n] */
} digits;

typedef struct {
  flam_tensor *logits; /* f32 [n, 10] */
  double loss, accuracy;
} score;

static void check(void) {
  if (flam_error_code() == FLAM_OK) return;
  fprintf(stderr, "%s\n", flam_error_message());
  exit(1);
}

static double now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* ---- the model and the data ---- */

static flam_module *mlp(void) {
  flam_module *model = flam_nn_sequential();
  flam_module_append(model, flam_nn_flatten(NULL));
  flam_module_append(model, flam_nn_linear(PIXELS, HIDDEN, NULL));
  flam_module_append(model, flam_nn_relu());
  flam_module_append(model, flam_nn_linear(HIDDEN, CLASSES, NULL));
  return model;
}

/* Three by three pixels, of an image that keeps its size; then the largest of each two by two. */
static void append_convolution(flam_module *model, int64_t in, int64_t out) {
  const int64_t kernel[] = {3, 3}, padding[] = {1, 1}, pool = 2;
  flam_nn_convolution_options how = FLAM_NN_CONVOLUTION_OPTIONS_INIT;
  how.padding = padding;
  how.n_padding = 2; /* as many as the image has dimensions */
  flam_module_append(model, flam_nn_convolution(in, out, kernel, 2, &how));
  flam_module_append(model, flam_nn_relu());
  flam_module_append(model, flam_nn_max_pool2d(&pool, 1, NULL));
}

static flam_module *conv(void) {
  enum { GRAY = 1, NARROW = 16, WIDE = 32, LEFT = SIDE / 4 }; /* halved twice */
  flam_module *model = flam_nn_sequential();
  append_convolution(model, GRAY, NARROW);
  append_convolution(model, NARROW, WIDE);
  flam_module_append(model, flam_nn_flatten(NULL));
  flam_module_append(model, flam_nn_linear(WIDE * LEFT * LEFT, CLASSES, NULL));
  return model;
}

static digits read_digits(const flam_state *data, const char *images, const char *labels) {
  const flam_tensor *gray = flam_to(flam_state_get(data, images), FLAM_F32, FLAM_DEVICE_NONE, NULL);
  return (digits){
      .images = flam_div_f64(gray, WHITE),
      .labels = flam_to(flam_state_get(data, labels), FLAM_I64, FLAM_DEVICE_NONE, NULL),
  };
}

static digits to_device(digits d, flam_device device) {
  flam_to_options how = FLAM_TO_OPTIONS_INIT;
  how.non_blocking = FLAM_TRUE;
  return (digits){
      .images = flam_to(d.images, FLAM_DTYPE_NONE, device, &how),
      .labels = flam_to(d.labels, FLAM_DTYPE_NONE, device, &how),
  };
}

/* ---- scoring and training ---- */

static flam_tensor *loss_of(const flam_tensor *logits, const flam_tensor *labels) {
  flam_cross_entropy_options how = FLAM_CROSS_ENTROPY_OPTIONS_INIT;
  how.label_smoothing = SMOOTHING;
  return flam_cross_entropy(logits, labels, NULL, &how);
}

static score evaluate(flam_module *model, digits held_out) {
  const flam_scope no_grad = flam_grad_mode_push(FLAM_FALSE);
  const int64_t classes = 1; /* of [n, 10] */
  flam_dim_options per_image = FLAM_DIM_OPTIONS_INIT;
  per_image.dim = &classes;
  flam_module_train(model, FLAM_FALSE);
  score s = {.logits = flam_module_call(model, held_out.images)};
  flam_tensor_item_f64(loss_of(s.logits, held_out.labels), &s.loss);
  const flam_tensor *guess = flam_argmax(s.logits, &per_image);
  int64_t correct = 0;
  flam_tensor_item_i64(flam_sum(flam_eq(guess, held_out.labels), NULL), &correct);
  flam_scope_pop(no_grad);
  s.accuracy = 100.0 * (double)correct / (double)flam_tensor_numel(held_out.labels);
  check();
  return s;
}

static flam_optimizer *adamw(const flam_module *model, double lr) {
  const flam_tensor_list *params = flam_module_parameters(model);
  flam_adamw_options how = FLAM_ADAMW_OPTIONS_INIT;
  how.lr = lr;
  return flam_adamw_new(FLAM_LIST(params), &how);
}

static flam_loader *shuffled(digits learn, const options *o, flam_device device) {
  flam_tensor *tensors[] = {learn.images, learn.labels};
  flam_loader_options how = FLAM_LOADER_OPTIONS_INIT;
  how.batch_size = o->batch_size;
  how.shuffle = FLAM_TRUE;
  how.num_workers = o->workers;
  how.pin_memory = flam_device_type_of(device) != FLAM_CPU;
  how.seed = (uint64_t)o->seed;
  return flam_loader_new(flam_dataset_from_tensors(tensors, 2), &how);
}

/* One step on one batch, whose temporaries a frame releases; false at the end of the epoch. */
static int step(flam_loader *loader, flam_module *model, flam_optimizer *optimizer,
                flam_device device, flam_tensor *total, flam_progress *bar) {
  const flam_scope frame = flam_frame_push();
  flam_tensor_list *items = NULL;
  flam_loader_next(loader, &items, NULL);
  check();
  if (!items) {
    flam_frame_pop(frame);
    return 0;
  }
  const digits read = {flam_tensor_list_get(items, 0), flam_tensor_list_get(items, 1)};
  const digits batch = to_device(read, device);
  const int64_t count = flam_tensor_size(batch.labels, 0);
  flam_tensor *loss = loss_of(flam_module_call(model, batch.images), batch.labels);
  flam_optimizer_zero_grad(optimizer, FLAM_TRUE); /* set to none */
  flam_backward(loss);
  flam_optimizer_step(optimizer);
  /* stays on the device: a step never waits for it */
  flam_add_(total, flam_mul_i64(flam_detach(loss), count));
  if (flam_progress_advance(bar, count)) { /* only then the loss is waited for */
    double value = 0;
    flam_tensor_item_f64(loss, &value);
    flam_progress_set(bar, "loss", value);
    flam_progress_draw(bar);
  }
  check();
  flam_frame_pop(frame);
  return 1;
}

/* Values per epoch, for the plot. */
typedef struct {
  double *losses, *held_out, *accuracy;
} curves;

static curves new_curves(long epochs) {
  const curves c = {
      .losses = calloc((size_t)epochs, sizeof(double)),
      .held_out = calloc((size_t)epochs, sizeof(double)),
      .accuracy = calloc((size_t)epochs, sizeof(double)),
  };
  if (c.losses && c.held_out && c.accuracy) return c;
  fputs("digits: out of memory\n", stderr);
  exit(1);
}

static void write_plot(curves c, const options *o) {
  const size_t n = (size_t)o->epochs;
  char title[100];
  flam_plot_panel_options axes = FLAM_PLOT_PANEL_OPTIONS_INIT;
  axes.x_label = "epoch";
  snprintf(title, sizeof title, "Handwritten digits, %s: %.1f %% correct", o->conv ? "conv" : "mlp",
           c.accuracy[n - 1]);
  flam_plot *plot = flam_plot_new(title);
  flam_plot_panel(plot, "Cross-entropy", &axes);
  flam_plot_line(plot, "training", c.losses, n, NULL, 0);
  flam_plot_line(plot, "held out", c.held_out, n, NULL, 0);
  axes.unit = " %";
  flam_plot_panel(plot, "Accuracy", &axes);
  flam_plot_line(plot, "held out", c.accuracy, n, NULL, 0);
  flam_plot_write(plot, o->plot);
  check();
  printf("plotted  %s\n", o->plot);
}

static void say(flam_progress *bar, const char *format, ...) {
  char line[160];
  va_list values;
  va_start(values, format);
  vsnprintf(line, sizeof line, format, values);
  va_end(values);
  flam_progress_say(bar, line);
}

static flam_progress *new_bar(int64_t images, flam_device device) {
  flam_progress_options how = FLAM_PROGRESS_OPTIONS_INIT;
  how.total = images;
  how.unit = "images";
  flam_progress *bar = flam_progress_new(&how);
  fflush(stdout); /* what was printed comes before what the bar writes */
  flam_progress_to_text(bar, STDOUT_FILENO, NULL);
  flam_progress_watch(bar, device);
  return bar;
}

static curves train(flam_module *model, digits learn, digits held_out, flam_device device,
                    const options *o) {
  const flam_scope frame = flam_frame_push();
  const int64_t images = flam_tensor_size(learn.labels, 0);
  flam_loader *loader = shuffled(learn, o, device);
  flam_optimizer *optimizer = adamw(model, o->lr);
  const double last_lr = 0;
  flam_scheduler *scheduler = flam_cosine_annealing_lr_new(optimizer, o->epochs, last_lr);
  flam_progress *bar = new_bar(images * o->epochs, device);
  const curves c = new_curves(o->epochs);
  flam_creation_options there = FLAM_CREATION_OPTIONS_INIT;
  there.device = device;
  check();
  for (long epoch = 1; epoch <= o->epochs; ++epoch) {
    const flam_scope inner = flam_frame_push();
    flam_tensor *total = flam_zeros(NULL, 0, &there);
    flam_module_train(model, FLAM_TRUE);
    while (step(loader, model, optimizer, device, total, bar)) {
    }
    flam_scheduler_step(scheduler);
    flam_tensor_item_f64(total, &c.losses[epoch - 1]);
    c.losses[epoch - 1] /= (double)images;
    const score s = evaluate(model, held_out);
    c.held_out[epoch - 1] = s.loss;
    c.accuracy[epoch - 1] = s.accuracy;
    if (epoch == 1 || epoch % (o->epochs < 10 ? 1 : o->epochs / 10) == 0)
      say(bar, "epoch %3ld/%ld   loss %.4f   held out %.4f   accuracy %5.1f %%", epoch, o->epochs,
          c.losses[epoch - 1], s.loss, s.accuracy);
    flam_frame_pop(inner);
  }
  flam_progress_finish(bar);
  say(bar, "\ntrained  %ld images, %.0f per second, in %.1f s", (long)flam_progress_done(bar),
      (double)flam_progress_done(bar) / flam_progress_elapsed(bar), flam_progress_elapsed(bar));
  check();
  flam_frame_pop(frame);
  return c;
}

/* ---- the program ---- */

/* Ends the program: with success where help was asked for, else naming the option's problem. */
static void usage(const char *option, const char *problem) {
  if (problem) fprintf(stderr, "digits: %s %s\n", option, problem);
  fputs(
      "usage: digits [--conv] [--device NAME] [--epochs N] [--batch-size N] [--lr X] [--seed N]\n"
      "              [--threads N] [--workers N] [--data FILE] [--weights FILE] [--save FILE]\n"
      "              [--logits FILE] [--plot FILE]\n",
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
  if (s->whole && *s->whole < s->least)
    usage(s->name, s->least ? "must be at least 1" : "must not be negative");
}

static options arguments(int argc, char **argv) {
  options o = {
      .device = "auto",
      .data = "examples/data/digits.safetensors",
      .epochs = 30,
      .batch_size = 32,
      .workers = 2,
      .lr = 3e-3,
  };
  const setting settings[] = {
      {"--device", .text = &o.device},
      {"--data", .text = &o.data},
      {"--weights", .text = &o.weights},
      {"--save", .text = &o.save},
      {"--logits", .text = &o.logits},
      {"--plot", .text = &o.plot},
      {"--epochs", .whole = &o.epochs, .least = 1},
      {"--batch-size", .whole = &o.batch_size, .least = 1},
      {"--seed", .whole = &o.seed},
      {"--threads", .whole = &o.threads, .least = 1},
      {"--workers", .whole = &o.workers},
      {"--lr", .number = &o.lr},
  };
  const setting *end = settings + sizeof settings / sizeof *settings;
  for (int i = 1; i < argc; ++i) {
    const setting *s = settings;
    if (strcmp(argv[i], "--help") == 0 || strcmp(argv[i], "-h") == 0) usage(argv[i], NULL);
    if (strcmp(argv[i], "--conv") == 0) {
      o.conv = 1;
      continue;
    }
    while (s != end && strcmp(argv[i], s->name) != 0) ++s;
    if (s == end) usage(argv[i], "is unknown");
    if (++i == argc) usage(s->name, "needs a value");
    set(s, argv[i]);
  }
  if (!o.save) o.save = o.conv ? "build/digits-conv.safetensors" : "build/digits-mlp.safetensors";
  return o;
}

/* The device asked for, or a GPU if there is one. */
static flam_device choose_device(const char *name) {
  const int gpu = flam_device_is_available(FLAM_CUDA);
  flam_device device = 0;
  if (strcmp(name, "auto") != 0) {
    flam_device_parse(name, &device);
    check();
  } else {
    device = flam_device_make(gpu ? FLAM_CUDA : FLAM_CPU, 0);
  }
  if (flam_device_type_of(device) == FLAM_CUDA && flam_device_index_of(device) < 0)
    device = flam_device_current(FLAM_CUDA);
  if (flam_device_type_of(device) == FLAM_CUDA) {
    printf("device   %s (%s)\n", flam_device_name(device), flam_device_model(device));
  } else if (strcmp(name, "auto") != 0) {
    printf("device   %s\n", flam_device_name(device));
  } else {
    printf("device   cpu (%d threads; no GPU: %s)\n", (int)flam_get_num_threads(),
           flam_cuda_unavailable_reason());
  }
  check();
  return device;
}

static void write_logits(const flam_tensor *logits, const char *path) {
  const size_t bytes = (size_t)flam_tensor_nbytes(logits);
  void *buffer = malloc(bytes);
  FILE *file = fopen(path, "wb");
  flam_tensor_to_host(logits, buffer, bytes);
  check();
  if (!file || !buffer || fwrite(buffer, 1, bytes, file) != bytes || fclose(file) != 0) {
    perror(path);
    exit(1);
  }
  free(buffer);
}

static void run(const options *o) {
  const flam_device device = choose_device(o->device);
  const flam_state *data = flam_load(o->data, FLAM_DEVICE_NONE);
  const digits learn = read_digits(data, "train.images", "train.labels");
  const digits held_out = to_device(read_digits(data, "test.images", "test.labels"), device);
  flam_module *model = o->conv ? conv() : mlp();
  flam_module_to(model, FLAM_DTYPE_NONE, device, NULL);
  check();
  printf("model    %s, %ld parameters\n", o->conv ? "conv" : "mlp", (long)flam_module_numel(model));
  printf("data     %ld images to learn from, %ld held out\n\n",
         (long)flam_tensor_numel(learn.labels), (long)flam_tensor_numel(held_out.labels));
  if (o->weights) {
    flam_module_load_state_dict(model, flam_load(o->weights, FLAM_DEVICE_NONE), FLAM_TRUE);
  } else {
    const curves c = train(model, learn, held_out, device, o);
    if (flam_save(flam_module_state_dict(model), o->save) == FLAM_OK)
      printf("saved    %s\n", o->save);
    if (o->plot) write_plot(c, o);
    free(c.losses);
    free(c.held_out);
    free(c.accuracy);
  }
  check();
  const double begun = now();
  const score s = evaluate(model, held_out);
  printf("scored   %ld held-out images in %.1f ms\n", (long)flam_tensor_size(s.logits, 0),
         1e3 * (now() - begun));
  if (o->logits) write_logits(s.logits, o->logits);
  printf("\nheld-out accuracy %.2f %%   loss %.6f\n\n%s\n", s.accuracy, s.loss,
         flam_memory_summary(device, FLAM_TRUE));
}

int main(int argc, char **argv) {
  const options o = arguments(argc, argv);
  const char *problem = flam_library_load(NULL);
  if (problem) {
    fprintf(stderr, "%s\n", problem);
    return 1;
  }
  const flam_scope frame = flam_frame_push();
  if (o.threads) flam_set_num_threads((int32_t)o.threads);
  flam_manual_seed((uint64_t)o.seed);
  printf("flambeau %d.%d.%d   digits\n", (int)(flam_version() >> 16),
         (int)(flam_version() >> 8 & 255), (int)(flam_version() & 255));
  run(&o);
  flam_frame_pop(frame);
  return 0;
}
