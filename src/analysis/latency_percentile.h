// Percentiles of latency as columns: the ones asked for, be they metrics or not. Pure functions.
#pragma once

#include "stats/latency_sketch.h"

#include <deepgap/record.h>

#include <optional>
#include <string>
#include <vector>

namespace deepgap {

// "90,95,p99,99.9", without repetition, in that order. Throws Error{usage} for what is no percentile between 0 and 100.
std::vector<double> parse_percentiles(const std::string& list);

// The column: "latency_p90_ms", "latency_p999_ms" for 99.9, "latency_p12_5_ms" for 12.5. A metric's id where it is one.
std::string latency_percentile_column(double percent);

// Returns the percentile of a series in its order of time; an end that needs more values is absent. The series is not empty.
Estimate percentile_of_series(const std::vector<double>& series, double percent);
// Returns the percentile of a Record's latencies in ms; a shed query counts as infinite latency. nullopt if it is one of those, or if there
// are no latencies.
std::optional<Estimate> latency_percentile(const Record& record, double percent);

// The fact under which a Record keeps the distribution of its latencies, so that repeats can be pooled without their timings.
inline constexpr const char* latency_sketch_fact = "latency.sketch";
// Sets it, of a Record that ran and has all its timings.
void keep_latency_sketch(Record& record);
// Returns the Record's sketch; nullopt if it has none.
std::optional<LatencySketch> latency_sketch_of(const Record& record);

// Gives the Record an estimate for each that it lacks, from its timings; where these are not in it, or more ran than were kept, it stays
// without.
void add_latency_percentiles(Record& record, const std::vector<double>& percents);

}  // namespace deepgap
