/* The loader as C sees it: tensors batch by batch, the same whatever the number of workers, resumed
 * where it was left; data sets written in C whose fetch fails once, and items that nobody took. */
#include "pairs.h"

#include <pthread.h>

enum { samples = 10 };

static int drops;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int items_alive; /* under the lock: workers make them */

static void count_items(int change) {
  CHECK(pthread_mutex_lock(&lock) == 0);
  items_alive += change;
  CHECK(pthread_mutex_unlock(&lock) == 0);
}

static void count_drop(void *user) {
  (void)user;
  ++drops;
}
static void drop_item(void *item) {
  count_items(-1);
  free(item);
}

/* The numbers 0 to 9 as pairs (i, -i). */
static flam_dataset *pairs(void) {
  int64_t data[2 * samples], size[2] = {samples, 2};
  flam_tensor *tensors[1];
  flam_tensor *t;
  flam_dataset *dataset;
  int i;
  for (i = 0; i < samples; ++i) data[2 * i] = i, data[2 * i + 1] = -i;
  t = flam_tensor_from_data(data, size, 2, FLAM_I64, NULL);
  tensors[0] = t;
  dataset = flam_dataset_from_tensors(tensors, 1);
  flam_tensor_release(t);
  return dataset;
}

static flam_loader *loader_of(flam_dataset *dataset, int64_t workers, flam_bool shuffle) {
  flam_loader_options options;
  flam_loader_options_init(&options);
  options.batch_size = 3;
  options.num_workers = workers;
  options.shuffle = shuffle;
  options.seed = 7;
  return flam_loader_new(dataset, &options);
}

/* Appends the next batch's first column; its length, or 0 at the end of the epoch. */
static int64_t take(flam_loader *loader, int64_t *into, int64_t at) {
  flam_tensor_list *batch = NULL;
  void *item = NULL;
  int64_t rows[2 * samples], n, i;
  flam_tensor *t;
  CHECK(flam_loader_next(loader, &batch, &item) == FLAM_OK && item == NULL);
  if (!batch) return 0;
  CHECK(flam_tensor_list_size(batch) == 1);
  t = flam_tensor_list_get(batch, 0);
  n = flam_tensor_size(t, 0);
  CHECK(flam_tensor_size(t, 1) == 2);
  CHECK(flam_tensor_to_host(t, rows, (size_t)(16 * n)) == FLAM_OK);
  for (i = 0; i < n; ++i) {
    CHECK(rows[2 * i] == -rows[2 * i + 1] && at + i < samples);
    into[at + i] = rows[2 * i];
  }
  flam_tensor_release(t);
  flam_tensor_list_release(batch);
  return n;
}

static void epoch(flam_loader *loader, int64_t *order) {
  int64_t at = 0, n;
  while ((n = take(loader, order, at)) > 0) at += n;
  CHECK(at == samples);
}

static void test_order_and_workers(void) {
  flam_dataset *dataset = pairs();
  int64_t first[2][samples], second[2][samples], sorted[samples], i, seen = 0;
  int k;
  for (k = 0; k < 2; ++k) {
    flam_loader *loader = loader_of(dataset, k == 0 ? 0 : 3, 1);
    CHECK(flam_loader_size(loader) == 4);
    epoch(loader, first[k]);
    epoch(loader, second[k]);
    flam_loader_release(loader);
  }
  CHECK(memcmp(first[0], first[1], sizeof first[0]) == 0 &&
        memcmp(second[0], second[1], sizeof second[0]) == 0);
  CHECK(memcmp(first[0], second[0], sizeof first[0]) != 0); /* a new order every epoch */
  for (i = 0; i < samples; ++i) seen |= (int64_t)1 << first[0][i];
  CHECK(seen == (1 << samples) - 1);
  {
    flam_loader *loader = loader_of(dataset, 2, 0);
    epoch(loader, sorted);
    for (i = 0; i < samples; ++i) CHECK(sorted[i] == i);
    flam_loader_release(loader);
  }
  CHECK(flam_dataset_size(dataset) == samples);
  flam_dataset_release(dataset);
}

static void test_resuming(void) {
  flam_dataset *dataset = pairs();
  flam_loader *straight = loader_of(dataset, 2, 1), *resumed = loader_of(dataset, 0, 1);
  int64_t order[samples], rest[samples], number = -1, batch = -1, at = 0, n;
  epoch(straight, order);
  epoch(straight, order);
  CHECK(flam_loader_seek(resumed, 1, 2) == FLAM_OK);
  CHECK(flam_loader_position(resumed, &number, &batch) == FLAM_OK && number == 1 && batch == 2);
  while ((n = take(resumed, rest, at)) > 0) at += n;
  CHECK(at == samples - 6 && memcmp(rest, order + 6, sizeof rest[0] * (samples - 6)) == 0);
  CHECK(flam_loader_seek(resumed, 0, 99) == FLAM_ERROR_INDEX);
  CHECK_ERROR(FLAM_ERROR_INDEX, "99");
  flam_loader_release(straight);
  flam_loader_release(resumed);
  flam_dataset_release(dataset);
}

/* ---- data sets written in C
 * ---------------------------------------------------------------------------- */

static int64_t ten(void *user) {
  (void)user;
  return samples;
}

/* Batches of pairs (i, 2 i); the batch that holds sample 4 fails. */
static flam_status fetch_but_four(void *user, const int64_t *indices, size_t n_indices,
                                  flam_tensor_list **out_batch, void **out_item) {
  double *sum = (double *)malloc(sizeof *sum);
  size_t i;
  (void)out_batch;
  CHECK(sum != NULL);
  *sum = 0;
  for (i = 0; i < n_indices; ++i) {
    if (indices[i] == 4) {
      free(sum);
      flam_error_set("sample 4 is damaged", user, NULL);
      return FLAM_ERROR_CALLBACK;
    }
    *sum += (double)indices[i];
  }
  count_items(1);
  *out_item = sum;
  return FLAM_OK;
}

static flam_dataset *failing(void *user) {
  flam_dataset_vtable table;
  memset(&table, 0, sizeof table);
  table.struct_size = sizeof table;
  table.user = user;
  table.size = ten;
  table.fetch = fetch_but_four;
  table.drop_item = drop_item;
  table.drop = count_drop;
  return flam_dataset_new(&table);
}

static void test_a_failing_fetch(int64_t workers) {
  int user = 0, k;
  const double sums[4] = {0 + 1 + 2, 0, 6 + 7 + 8, 9};
  flam_dataset *dataset = failing(&user);
  flam_loader *loader = loader_of(dataset, workers, 0);
  flam_tensor_list *batch = NULL;
  void *item = NULL;
  drops = items_alive = 0;
  flam_dataset_release(dataset); /* the loader keeps it */
  for (k = 0; k < 4; ++k) {
    const flam_status status = flam_loader_next(loader, &batch, &item);
    if (k == 1) {
      CHECK(status == FLAM_ERROR_CALLBACK && flam_error_payload() == &user);
      CHECK_ERROR(FLAM_ERROR_CALLBACK, "sample 4 is damaged");
      continue; /* the batch counts as delivered */
    }
    CHECK(status == FLAM_OK && batch == NULL && *(double *)item == sums[k]);
    drop_item(item);
  }
  CHECK(flam_loader_next(loader, &batch, &item) == FLAM_OK && !batch && !item);
  CHECK(flam_loader_next(loader, &batch, &item) == FLAM_OK && item); /* the next epoch */
  drop_item(item);
  CHECK(drops == 0);
  flam_loader_release(loader);
  CHECK(drops == 1 && items_alive == 0); /* what was fetched ahead is dropped */
}

/* Waiting: at once without workers and where nothing is in flight, until it is there with them. */
static void test_waiting(void) {
  flam_loader_options options;
  flam_dataset *dataset = pairs();
  int64_t workers;
  for (workers = 0; workers < 2; ++workers) {
    flam_tensor_list *batch = NULL;
    void *item = NULL;
    flam_bool ready = 0;
    flam_loader *loader;
    flam_loader_options_init(&options);
    options.num_workers = workers;
    loader = flam_loader_new(dataset, &options);
    while (flam_loader_wait(loader, 1e300, &ready) == FLAM_OK && !ready) {
    }
    CHECK(ready && flam_loader_wait(loader, 0, &ready) == FLAM_OK && ready);
    CHECK(flam_loader_next(loader, &batch, &item) == FLAM_OK && batch);
    flam_tensor_list_release(batch);
    CHECK(flam_loader_wait(loader, -1, &ready) == FLAM_ERROR_INVALID_ARGUMENT);
    CHECK_ERROR(FLAM_ERROR_INVALID_ARGUMENT, "non-negative");
    flam_loader_release(loader);
  }
  flam_dataset_release(dataset);
}

static void test_refused_arguments(void) {
  flam_dataset_vtable table;
  flam_loader_options options;
  flam_dataset *dataset = pairs();
  flam_tensor *odd[2];
  flam_tensor *two = vector(1, 2), *none;
  const int64_t size[1] = {3};
  memset(&table, 0, sizeof table);
  table.struct_size = sizeof table;
  table.drop = count_drop;
  drops = 0;
  CHECK(flam_dataset_new(&table) == NULL && drops == 1);
  CHECK_ERROR(FLAM_ERROR_INVALID_ARGUMENT, "fetch");
  flam_loader_options_init(&options);
  options.batch_size = 0;
  CHECK(flam_loader_new(dataset, &options) == NULL);
  CHECK_ERROR(FLAM_ERROR_INVALID_ARGUMENT, "batch_size");
  flam_creation_options zeros_options = FLAM_CREATION_OPTIONS_INIT;
  zeros_options.dtype = FLAM_F64;
  none = flam_zeros(size, 1, &zeros_options);
  CHECK(equals(two, 1, 2));
  odd[0] = two;
  odd[1] = none;
  CHECK(flam_dataset_from_tensors(odd, 2) == NULL);
  CHECK(flam_error_code() == FLAM_ERROR_SHAPE);
  flam_error_clear();
  flam_tensor_release(two);
  flam_tensor_release(none);
  flam_dataset_release(dataset);
}

int main(void) {
  load();
  flam_set_leak_tracking_enabled(1);
  test_order_and_workers();
  test_resuming();
  test_a_failing_fetch(0);
  test_a_failing_fetch(2);
  test_waiting();
  test_refused_arguments();
  CHECK(flam_leak_report()[0] == '\0');
  return 0;
}
