/* Tools as C sees them: a profile of named work, its table and trace; progress shown by a function;
 * a chart; the page of memory; facts of the environment. */
#include "pairs.h"

static void test_profile_counts_what_ran(void) {
  flam_profiler_options options;
  flam_profile *profile;
  flam_tensor *x = vector(1, 2), *y;
  const char *table = NULL;
  uint64_t range;
  flam_profiler_options_init(&options);
  options.record_shapes = 1;
  CHECK(flam_range_begin("nobody listens") == 0);
  CHECK(!flam_profiler_is_running() && flam_profiler_start(&options) == FLAM_OK);
  CHECK(flam_profiler_is_running());
  CHECK(flam_profiler_start(NULL) == FLAM_ERROR_INVALID_ARGUMENT);
  CHECK_ERROR(FLAM_ERROR_INVALID_ARGUMENT, "running already");
  range = flam_range_begin("work");
  y = flam_exp(x);
  flam_range_end(range);
  flam_range_end(range); /* ended already: nothing happens */
  CHECK(!equals(y, 1, 2));
  profile = flam_profiler_stop();
  CHECK(profile && !flam_profiler_is_running());
  CHECK(flam_profiler_stop() == NULL);
  CHECK_ERROR(FLAM_ERROR_INVALID_ARGUMENT, "not running");
  flam_profile_table_options profile_table_options = FLAM_PROFILE_TABLE_OPTIONS_INIT;
  profile_table_options.sort_by = "cpu_time_total";
  profile_table_options.row_limit = -1;
  profile_table_options.by_shape = 1;
  CHECK(flam_profile_table(profile, &table, &profile_table_options) == FLAM_OK);
  CHECK(strstr(table, "work") && strstr(table, "exp") && strstr(table, "[[2]]"));
  flam_profile_table_options table_options_2 = FLAM_PROFILE_TABLE_OPTIONS_INIT;
  table_options_2.sort_by = "speed";
  table_options_2.row_limit = -1;
  CHECK(flam_profile_table(profile, &table, &table_options_2) == FLAM_ERROR_INVALID_ARGUMENT);
  CHECK_ERROR(FLAM_ERROR_INVALID_ARGUMENT, "self_cpu_time_total");
  CHECK(strstr(flam_profile_events(profile), "\"name\":\"exp\",\"kind\":\"op\""));
  CHECK(strstr(flam_profile_averages(profile, NULL), "\"count\":1"));
  CHECK(flam_profile_export_trace(profile, "/nowhere/trace.json") == FLAM_ERROR_IO);
  flam_error_clear();
  flam_profile_release(profile);
  flam_tensor_release(y);
  flam_tensor_release(x);
}

typedef struct {
  int progress, messages, ends, drops, fail;
  char last[200];
} seen;

static flam_status show(void *user, const char *event, const char *text, const char *json) {
  seen *s = user;
  CHECK(json[0] == '{' && strstr(json, event));
  s->progress += strcmp(event, "progress") == 0;
  s->messages += strcmp(event, "message") == 0;
  s->ends += strcmp(event, "end") == 0;
  snprintf(s->last, sizeof s->last, "%s", text);
  if (!s->fail) return FLAM_OK;
  flam_error_set("the display is gone", NULL, NULL);
  return FLAM_ERROR_CALLBACK;
}

static void drop(void *user) { ++((seen *)user)->drops; }

static void test_progress_is_shown_by_a_function(void) {
  seen s = {0, 0, 0, 0, 0, ""};
  flam_progress_callback callback = {sizeof callback, NULL, show, drop};
  flam_progress_options progress_options = FLAM_PROGRESS_OPTIONS_INIT;
  progress_options.total = 4;
  progress_options.unit = "rows";
  flam_progress *bar = flam_progress_new(&progress_options);
  callback.user = &s;
  CHECK(!flam_progress_advance(bar, 1)); /* nobody to show it to */
  CHECK(flam_progress_to_callback(bar, &callback, 1e-9) == FLAM_OK);
  CHECK(flam_progress_watch(bar, flam_device_make(FLAM_CPU, 0)) == FLAM_OK);
  CHECK(flam_progress_advance(bar, 1));
  CHECK(flam_progress_set(bar, "loss", 0.25) == FLAM_OK && flam_progress_draw(bar) == FLAM_OK);
  CHECK(s.progress == 1 && strstr(s.last, " 50 %") && strstr(s.last, "loss 0.2500"));
  CHECK(strstr(s.last, "rows/s") && strstr(s.last, "memory") && strstr(s.last, "left"));
  CHECK(flam_progress_say(bar, "half of it") == FLAM_OK && strcmp(s.last, "half of it") == 0);
  s.fail = 1;
  CHECK(flam_progress_say(bar, "again") == FLAM_ERROR_CALLBACK);
  CHECK_ERROR(FLAM_ERROR_CALLBACK, "the display is gone");
  s.fail = 0;
  CHECK(flam_progress_finish(bar) == FLAM_OK && flam_progress_finish(bar) == FLAM_OK);
  CHECK(s.ends == 1 && !flam_progress_advance(bar, 2) && flam_progress_done(bar) == 4);
  flam_progress_options progress_options_2 = FLAM_PROGRESS_OPTIONS_INIT;
  progress_options_2.total = -1;
  CHECK(flam_progress_new(&progress_options_2) == NULL);
  CHECK_ERROR(FLAM_ERROR_INVALID_ARGUMENT, "total is -1");
  flam_progress_release(bar);
  CHECK(s.drops == 1);
}

static void test_charts(void) {
  const double y[] = {3, 1, 2}, x[] = {1, 2}, zero[] = {0};
  flam_plot *plot = flam_plot_new("a < b & c");
  flam_plot_panel_options plot_panel_options = FLAM_PLOT_PANEL_OPTIONS_INIT;
  plot_panel_options.x_label = "epoch";
  plot_panel_options.log_y = 1;
  CHECK(flam_plot_panel(plot, "loss", &plot_panel_options) == FLAM_OK);
  CHECK(flam_plot_line(plot, "training", y, 3, NULL, 0) == FLAM_OK);
  CHECK(flam_plot_points(plot, "p", y, 3, x, 2) == FLAM_ERROR_INVALID_ARGUMENT);
  CHECK_ERROR(FLAM_ERROR_INVALID_ARGUMENT, "3 values of y and 2 of x");
  CHECK(flam_plot_bars(plot, "b", zero, 1, NULL, 0) == FLAM_ERROR_INVALID_ARGUMENT);
  CHECK_ERROR(FLAM_ERROR_INVALID_ARGUMENT, "logarithmic");
  CHECK(strstr(flam_plot_svg(plot), "a &lt; b &amp; c") && strstr(flam_plot_svg(plot), "training"));
  flam_plot_release(plot);
}

static void test_memory_page_needs_a_recording(void) {
  CHECK(flam_memory_timeline("memory.html") == FLAM_ERROR_INVALID_ARGUMENT);
  CHECK_ERROR(FLAM_ERROR_INVALID_ARGUMENT, "flam_memory_record_history");
}

static void test_environment_has_the_facts(void) {
  const char *facts = flam_environment();
  CHECK(strstr(facts, "\"instruction set\"") && strstr(facts, "\"simulated\""));
  CHECK(strstr(facts, "\"driver\"") && strstr(facts, "\"fix\""));
}

int main(void) {
  load();
  test_profile_counts_what_ran();
  test_progress_is_shown_by_a_function();
  test_charts();
  test_memory_page_needs_a_recording();
  test_environment_has_the_facts();
  return 0;
}
