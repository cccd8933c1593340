// The steady window of a Record as metrics read it: the timings that succeeded, its length, and series at its edges. Pure functions.
#pragma once

#include <deepgap/record.h>

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace deepgap {

const Window* find_window(const Record& record, std::string_view name);
// Length in seconds; nullopt where there is no such window or it is empty.
std::optional<double> window_seconds(const Record& record, std::string_view name);

// Latencies in ms of the queries that succeeded, in order of completion, from the time each was scheduled to begin.
std::vector<double> latencies_ms(const Record& record);

// Returns the estimate that the worker left in record.estimates under the metric's own id; nullopt where it left none.
std::optional<Estimate> left_by_worker(const Record& record, const std::string& id);

const Series* find_series(const Record& record, std::string_view probe, std::string_view name);
// Returns whether readings reach from before the window to behind it, or nearly: within a tenth of its length on either side.
bool encloses(const Series& series, const Window& window);
// Growth of a counter over a window, linear between readings. nullopt when the readings do not enclose the window to within a tenth of
// its length on either side, or when the counter went backwards inside it.
std::optional<double> counter_growth(const Series& counter, const Window& window);
// Integral over a window of readings that are joined by straight lines, divided by its length. Same condition.
std::optional<double> time_average(const Series& readings, const Window& window);

}  // namespace deepgap
