/* Stores as C sees them: values as tensors of bytes, deadlines, and a table over TCP that two
 * stores of this process share. */
#include "check.h"

static int holds(flam_tensor *bytes, const char *text) {
  const int64_t n = (int64_t)strlen(text);
  int same = bytes && flam_tensor_dim(bytes) == 1 && flam_tensor_numel(bytes) == n &&
             flam_tensor_dtype(bytes) == FLAM_U8 &&
             flam_tensor_device(bytes) == flam_device_make(FLAM_CPU, 0);
  if (same && n) same = memcmp(flam_tensor_data_ptr(bytes), text, (size_t)n) == 0;
  flam_tensor_release(bytes);
  return same;
}

static int64_t bytes_in(flam_tensor *bytes) {
  const int64_t n = flam_tensor_numel(bytes);
  flam_tensor_release(bytes);
  return n;
}

static flam_status set(flam_store *store, const char *key, const char *text) {
  return flam_store_set(store, key, (const uint8_t *)text, strlen(text));
}

static void test_calls(flam_store *store) {
  const char *keys[] = {"a", "n"};
  const char *absent[] = {"a", "absent"};
  int64_t number = -1;
  flam_bool answer = FLAM_FALSE;
  CHECK(set(store, "a", "one") == FLAM_OK);
  CHECK(holds(flam_store_get(store, "a", -1), "one"));
  CHECK(flam_store_append(store, "a", (const uint8_t *)"+", 1) == FLAM_OK);
  CHECK(holds(flam_store_get(store, "a", 0), "one+"));
  CHECK(flam_store_set(store, "empty", NULL, 0) == FLAM_OK);
  CHECK(holds(flam_store_get(store, "empty", 0), ""));
  CHECK(flam_store_add(store, "n", 40, &number) == FLAM_OK && number == 40);
  CHECK(flam_store_add(store, "n", 2, &number) == FLAM_OK && number == 42);
  CHECK(flam_store_add(store, "a", 1, &number) == FLAM_ERROR_INVALID_ARGUMENT && number == 42);
  CHECK_ERROR(FLAM_ERROR_INVALID_ARGUMENT, "no number");
  CHECK(flam_store_check(store, keys, 2, &answer) == FLAM_OK && answer);
  CHECK(flam_store_check(store, absent, 2, &answer) == FLAM_OK && !answer);
  CHECK(flam_store_ready(store, keys, 2, 0.1, &answer) == FLAM_OK && answer);
  CHECK(flam_store_ready(store, absent, 2, 0.01, &answer) == FLAM_OK && !answer);
  CHECK(flam_store_wait(store, keys, 2, -1) == FLAM_OK);
  CHECK(flam_store_wait(store, absent, 2, 0.05) == FLAM_ERROR_COLLECTIVE_TIMEOUT);
  CHECK_ERROR(FLAM_ERROR_COLLECTIVE_TIMEOUT, "wait timeout after 50ms, keys: \"");
  CHECK(flam_store_get(store, "absent", 0) == NULL);
  CHECK_ERROR(FLAM_ERROR_COLLECTIVE_TIMEOUT, "absent");
  CHECK(holds(flam_store_compare_set(store, "c", NULL, 0, (const uint8_t *)"x", 1), "x"));
  CHECK(holds(flam_store_compare_set(store, "c", (const uint8_t *)"z", 1, NULL, 0), "x"));
  CHECK(flam_store_delete_key(store, "c", &answer) == FLAM_OK && answer);
  CHECK(flam_store_delete_key(store, "c", &answer) == FLAM_OK && !answer);
  CHECK(flam_store_timeout(store) == 300);
  CHECK(flam_store_set_timeout(store, 0) == FLAM_ERROR_INVALID_ARGUMENT);
  CHECK_ERROR(FLAM_ERROR_INVALID_ARGUMENT, "above 0");
  CHECK(flam_store_set_timeout(store, 1.5) == FLAM_OK && flam_store_timeout(store) == 1.5);
  CHECK(strstr(flam_store_describe(store), "Store"));
}

static void test_hash_and_prefix(void) {
  flam_store *store = flam_store_hash(), *part = flam_store_prefix("part", store);
  int64_t count = 0;
  CHECK(store && part);
  test_calls(part);
  CHECK(holds(flam_store_get(store, "part/a", 0), "one+"));
  CHECK(flam_store_num_keys(store, &count) == FLAM_OK && count == 3);
  CHECK(bytes_in(flam_store_list_keys(part)) > 0);
  CHECK(bytes_in(flam_store_list_keys(part)) + 3 * 5 == bytes_in(flam_store_list_keys(store)));
  CHECK(flam_store_port(part) == 0 && flam_store_num_workers(part) == 0);
  flam_store_release(store);
  CHECK(holds(flam_store_get(part, "a", 0), "one+")); /* it keeps the whole */
  flam_store_release(part);
}

static void test_file(void) {
  char path[64];
  flam_store *store;
  /* C99 has no safe temporary name: this one is of the process, by where its stack lies. */
  snprintf(path, sizeof path, "/tmp/flambeau_store_test_%p", (void *)&store);
  remove(path);
  store = flam_store_file(path, 1);
  CHECK(store);
  test_calls(store);
  flam_store_release(store);
  CHECK(fopen(path, "rb") == NULL); /* the last one removed it */
  CHECK(flam_store_file("/nowhere/at/all", -1) == NULL);
  CHECK_ERROR(FLAM_ERROR_IO, "/nowhere/at/all");
}

static void test_tcp(void) {
  flam_store_tcp_options options = FLAM_STORE_TCP_OPTIONS_INIT;
  flam_store *server, *client, *clone;
  int32_t port;
  options.is_server = FLAM_TRUE;
  options.world_size = 1;
  options.key = "of this job";
  server = flam_store_tcp("127.0.0.1", 0, &options);
  CHECK(server && flam_store_num_workers(server) == 1);
  port = flam_store_port(server);
  CHECK(port > 0);
  CHECK(flam_store_tcp("127.0.0.1", port, &options) == NULL);
  CHECK_ERROR(FLAM_ERROR_IO, "is already in use");
  options.is_server = FLAM_FALSE;
  client = flam_store_tcp("127.0.0.1", port, &options);
  CHECK(client);
  test_calls(client);
  CHECK(holds(flam_store_get(server, "a", 1), "one+"));
  clone = flam_store_clone(client);
  CHECK(clone && flam_store_timeout(clone) == 1.5);
  options.key = "of another one";
  CHECK(flam_store_tcp("127.0.0.1", port, &options) == NULL);
  CHECK_ERROR(FLAM_ERROR_PEER_LOST, "belongs to another job");
  flam_store_release(server);
  CHECK(set(clone, "k", "v") == FLAM_ERROR_PEER_LOST);
  CHECK_ERROR(FLAM_ERROR_PEER_LOST, "is lost");
  flam_store_release(clone);
  flam_store_release(client);
  options.timeout = 0.05;
  CHECK(flam_store_tcp("127.0.0.1", port, &options) == NULL);
  CHECK_ERROR(FLAM_ERROR_PEER_LOST, "while trying to connect");
  CHECK(flam_store_tcp("127.0.0.1", 65536, NULL) == NULL);
  CHECK_ERROR(FLAM_ERROR_INVALID_ARGUMENT, "65535");
  CHECK(flam_store_tcp("127.0.0.1", 0, NULL) == NULL);
  CHECK_ERROR(FLAM_ERROR_INVALID_ARGUMENT, "port 0");
}

static void test_missing_operands(void) {
  flam_store *store = flam_store_hash();
  CHECK(flam_store_get(NULL, "k", 0) == NULL);
  CHECK_ERROR(FLAM_ERROR_INVALID_ARGUMENT, "store");
  CHECK(flam_store_set(store, NULL, NULL, 0) == FLAM_ERROR_INVALID_ARGUMENT);
  CHECK_ERROR(FLAM_ERROR_INVALID_ARGUMENT, "key");
  CHECK(flam_store_set(store, "k", NULL, 3) == FLAM_ERROR_INVALID_ARGUMENT);
  CHECK_ERROR(FLAM_ERROR_INVALID_ARGUMENT, "value");
  flam_store_release(store);
  flam_store_release(NULL);
}

int main(void) {
  load();
  test_hash_and_prefix();
  test_file();
  test_tcp();
  test_missing_operands();
  return 0;
}
