/* Handwritten digits on several processes: each computes the gradients of its share of every batch,
 * and all of them go the same way, which is that of one process with whole batches.
 *
 *     cc -std=c99 -I include examples/c/ddp.c -ldl -o build/ddp
 *     export FLAMBEAU_LIBRARY=build/libflambeau.so.0
 *     .venv/bin/flambeau-run --no-python --nproc-per-node 2 build/ddp
 *
 * Started without a launcher it is the only process. The data is looked for where the repository's
 * root is the current directory; another file is the program's argument.
 */
#define FLAM_LOAD_IMPLEMENTATION
#include <flambeau/load.h>

#include <stdio.h>
#include <stdlib.h>

enum { PIXELS = 64, HIDDEN = 256, CLASSES = 10, WHITE = 240, EPOCHS = 10, BATCH = 64 };

static void check(void) {
  if (flam_error_code() == FLAM_OK) return;
  fprintf(stderr, "%s\n", flam_error_message());
  exit(1);
}

static flam_module *mlp(void) {
  flam_module *model = flam_nn_sequential();
  flam_module_append(model, flam_nn_flatten(NULL));
  flam_module_append(model, flam_nn_linear(PIXELS, HIDDEN, NULL));
  flam_module_append(model, flam_nn_relu());
  flam_module_append(model, flam_nn_linear(HIDDEN, CLASSES, NULL));
  return model;
}

static flam_tensor *images_of(const flam_state *data, const char *name) {
  return flam_div_f64(flam_to(flam_state_get(data, name), FLAM_F32, FLAM_DEVICE_NONE, NULL), WHITE);
}

static flam_tensor *labels_of(const flam_state *data, const char *name) {
  return flam_to(flam_state_get(data, name), FLAM_I64, FLAM_DEVICE_NONE, NULL);
}

/* The processes that a launcher has started, or this one alone. */
static flam_group *join(void) {
  return getenv("RANK") ? flam_group_init("env://", NULL)
                        : flam_group_new(flam_store_hash(), 0, 1, NULL);
}

/* One step on this rank's share of the batch that begins at `at`; its loss is added to `total`. */
static void step(flam_ddp *ddp, flam_module *model, flam_optimizer *optimizer,
                 const flam_tensor *images, const flam_tensor *labels, int64_t at, int64_t share,
                 flam_tensor *total) {
  const flam_scope frame = flam_frame_push();
  flam_optimizer_zero_grad(optimizer, FLAM_TRUE);
  flam_ddp_prepare_forward(ddp);
  flam_tensor *logits = flam_module_call(model, flam_narrow(images, 0, at, share));
  flam_ddp_prepare_backward(ddp, &logits, 1);
  flam_tensor *loss = flam_cross_entropy(logits, flam_narrow(labels, 0, at, share), NULL, NULL);
  flam_backward(loss);
  flam_add_(total, flam_detach(loss));
  flam_optimizer_step(optimizer);
  check();
  flam_frame_pop(frame);
}

static double accuracy(flam_module *model, const flam_tensor *images, const flam_tensor *labels) {
  const flam_scope no_grad = flam_grad_mode_push(FLAM_FALSE);
  const int64_t classes = 1; /* of [n, 10] */
  flam_dim_options per_image = FLAM_DIM_OPTIONS_INIT;
  per_image.dim = &classes;
  const flam_tensor *guess = flam_argmax(flam_module_call(model, images), &per_image);
  int64_t correct = 0;
  flam_tensor_item_i64(flam_sum(flam_eq(guess, labels), NULL), &correct);
  flam_scope_pop(no_grad);
  check();
  return 100.0 * (double)correct / (double)flam_tensor_numel(labels);
}

/* The mean over so many steps and all ranks of what was added to `total`. */
static double mean_loss(const flam_group *group, flam_tensor *total, int64_t steps) {
  double sum = 0;
  flam_work_release(flam_group_all_reduce(group, &total, 1, NULL));
  flam_tensor_item_f64(total, &sum);
  check();
  return sum / (double)(steps * flam_group_size(group));
}

int main(int argc, char **argv) {
  const char *problem = flam_library_load(NULL);
  if (problem) return fprintf(stderr, "%s\n", problem), 1;
  flam_group *group = join();
  const flam_state *data = flam_load(argc > 1 ? argv[1] : "examples/data/digits.safetensors", 0);
  const flam_tensor *images = images_of(data, "train.images");
  const flam_tensor *labels = labels_of(data, "train.labels");
  flam_manual_seed(0);
  flam_module *model = mlp();
  check();
  const int64_t rank = flam_group_rank(group), share = BATCH / flam_group_size(group);
  if (share * flam_group_size(group) != BATCH)
    return fprintf(stderr, "the number of processes must divide a batch of %d images\n", BATCH), 1;
  flam_ddp *ddp = flam_ddp_new(group, model, NULL); /* all begin with rank 0's weights */
  const flam_tensor_list *params = flam_module_parameters(model);
  flam_optimizer *optimizer = flam_adamw_new(FLAM_LIST(params), NULL);
  check();
  const int64_t whole = flam_tensor_size(labels, 0) / BATCH * BATCH;
  for (int epoch = 1; epoch <= EPOCHS; ++epoch) {
    flam_tensor *total = flam_zeros(NULL, 0, NULL);
    for (int64_t at = 0; at < whole; at += BATCH)
      step(ddp, model, optimizer, images, labels, at + rank * share, share, total);
    const double loss = mean_loss(group, total, whole / BATCH);
    flam_tensor_release(total);
    if (rank == 0) printf("epoch %2d/%d   loss %.3f\n", epoch, EPOCHS, loss);
  }
  if (rank == 0)
    printf("%d process%s: %.1f %% of the digits that were held out are right\n",
           (int)flam_group_size(group), flam_group_size(group) == 1 ? "" : "es",
           accuracy(model, images_of(data, "test.images"), labels_of(data, "test.labels")));
  flam_ddp_release(ddp);
  flam_group_leave(group);
  flam_group_release(group);
  return 0;
}
