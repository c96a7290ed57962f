/* Charts as SVG, without dependencies: panels side by side, each with axes of its own.
 * namespace: capi
 *
 * ```c
 * flam_plot *plot = flam_plot_new("Handwritten digits");
 * flam_plot_panel(plot, "Accuracy", "epoch", " %", 0);
 * flam_plot_line(plot, "held out", accuracy, epochs, NULL, 0);
 * flam_plot_write(plot, "curves.svg");
 * ```
 */
#ifndef FLAMBEAU_PLOT_H
#define FLAMBEAU_PLOT_H

#include "flambeau/common.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct flam_plot flam_plot;

/** A chart without panels.
 *
 * - `title`: its title; default: none.
 * - returns: the chart.
 * - errors: `FLAM_ERROR_OUT_OF_HOST_MEMORY`.
 */
FLAM_API flam_plot *flam_plot_new(FLAM_NULLABLE const char *title FLAM_DEFAULT(NULL));

/** Gives back a count.
 *
 * - `plot`: the chart, or `NULL`.
 */
FLAM_API void flam_plot_release(FLAM_NULLABLE flam_plot *plot);

/** Options of `flam_plot_panel`. */
typedef struct flam_plot_panel_options {
  size_t struct_size; /**< sizeof(flam_plot_panel_options) */
  const char *x_label FLAM_DEFAULT(NULL); /**< what runs along the x axis; default: nothing */
  /** written after each number of the y axis, such as " %"; default: nothing */
  const char *unit FLAM_DEFAULT(NULL);
  flam_bool log_y FLAM_DEFAULT(0); /**< whether the y axis is logarithmic; default false */
  int32_t reserved; /**< 0 */
} flam_plot_panel_options;

/** Adds a panel on the right; what is drawn next is drawn there.
 *
 * - `plot`: the chart.
 * - `heading`: the panel's heading.
 * - returns: `FLAM_OK`.
 * - errors: `FLAM_ERROR_OUT_OF_HOST_MEMORY`.
 */
FLAM_API flam_status
flam_plot_panel(flam_plot *plot, const char *heading, const flam_plot_panel_options *options);

/** Draws a curve. Where a value is not finite it is interrupted.
 *
 * - `plot`: the chart; without a panel it gets one.
 * - `name`: of the curve, written where it ends; one name has one colour in all panels.
 * - `y`: the values.
 * - `x`: where they are, as many; default: 1, 2, 3 and so on.
 * - returns: `FLAM_OK`.
 * - errors: `FLAM_ERROR_INVALID_ARGUMENT` for no values, another number of `x`, values that are not
 *   positive on a logarithmic axis.
 */
FLAM_API flam_status flam_plot_line(
    flam_plot *plot, const char *name, const double *y, size_t n_y,
    FLAM_NULLABLE const double *x FLAM_DEFAULT(NULL), size_t n_x);

/** Draws points.
 *
 * - `plot`: the chart; without a panel it gets one.
 * - `name`: of the points; one name has one colour in all panels.
 * - `y`: the values.
 * - `x`: where they are, as many; default: 1, 2, 3 and so on.
 * - returns: `FLAM_OK`.
 * - errors: as `flam_plot_line`.
 */
FLAM_API flam_status flam_plot_points(
    flam_plot *plot, const char *name, const double *y, size_t n_y,
    FLAM_NULLABLE const double *x FLAM_DEFAULT(NULL), size_t n_x);

/** Draws bars from 0, as in a histogram.
 *
 * - `plot`: the chart; without a panel it gets one.
 * - `name`: of the bars; one name has one colour in all panels.
 * - `y`: their heights.
 * - `x`: their middles, as many; default: 1, 2, 3 and so on.
 * - returns: `FLAM_OK`.
 * - errors: as `flam_plot_line`.
 */
FLAM_API flam_status flam_plot_bars(
    flam_plot *plot, const char *name, const double *y, size_t n_y,
    FLAM_NULLABLE const double *x FLAM_DEFAULT(NULL), size_t n_x);

/** The chart as SVG.
 *
 * - `plot`: the chart.
 * - returns: the text, valid until this thread's next call of this function.
 */
FLAM_BORROWED(thread)
FLAM_API const char *flam_plot_svg(const flam_plot *plot);

/** Writes the chart to a file.
 *
 * - `plot`: the chart.
 * - `path`: the file; an existing one is replaced only by a whole new one.
 * - returns: `FLAM_OK`.
 * - errors: `FLAM_ERROR_IO` with the system's reason.
 */
FLAM_API FLAM_BLOCKS flam_status flam_plot_write(const flam_plot *plot, const char *path);

#ifdef __cplusplus
}
#endif
#endif
