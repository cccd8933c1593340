// The timed queries of a Record, a row each, for other programs: `deepgap export --timings`. Pure functions.
//
// Columns: record_id, point_id, repeat (from 1), query; due_ns, issued_ns and done_ns, from the beginning of the measured window;
// latency_ms from due to done; samples; status (ok, failed, cancelled); then copy_in_ms and the other parts between the engine's marks
// (record/marked_parts.h), empty where the engine sets none; then input_tokens, output_tokens, cached_tokens, ttft_ms and tpot_ms, empty
// where nothing was generated. The latency percentiles of the Record are those of the rows with status ok by nearest rank (numpy's method
// "inverted_cdf"), where none was shed.
#pragma once

#include <deepgap/record.h>

#include <string>

namespace deepgap {

std::string timings_header();
// A line for each of record.timings.
std::string timings_rows(const Record& record);
// Returns objects, each on a line, joined by commas; empty if there are none. For the inside of a JSON array.
std::string timings_objects(const Record& record);

}  // namespace deepgap
