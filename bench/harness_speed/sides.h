// The two harnesses that harness_speed compares, each driving a system under test that answers at once. Every function is called in a
// process of its own, so that memory and global state are that measurement's.
#pragma once

#include <cstdint>

namespace deepgap {

struct ServerFigures {
  double rate = 0;    // queries a second answered
  double kept = 0;    // 1: nothing was left waiting (LoadGen: all that was scheduled was answered in time)
  double p50_us = 0;  // latency from the scheduled time
  double p99_us = 0;
  double late_p99_us = 0;  // lateness of issue; -1: not reported
  double spin_p99_us = 0;  // a thread that only spins until such times, before and after; -1: not measured
};
struct OfflineFigures {
  double score_ns = 0;    // a sample, in the time that is measured
  double outside_ns = 0;  // a sample, before and after it: making the run ready, and what comes after the last answer
};

ServerFigures our_server(double rate, double seconds);
OfflineFigures our_offline(int64_t samples);
double our_single_stream_ns(int64_t queries);  // a query

ServerFigures loadgen_server(double rate, double seconds);
OfflineFigures loadgen_offline(int64_t samples);
double loadgen_single_stream_ns(int64_t queries);

}  // namespace deepgap
