// Measures the peaks of a device: arithmetic in each precision, and bytes a second by the size of the memory that is gone through. A
// layer's time is compared with them (ceilings/roofline.h). A CPU is measured here, a GPU by ceilings/gpu_ceilings.h.
//
// These are ceilings, so the best of several samples counts, as in STREAM: a disturbance can only slow a sample down. The median shows how
// disturbed the machine was. Run it in a process of its own, before an engine has started threads.
#pragma once

#include <nlohmann/json_fwd.hpp>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace deepgap {

// The rate that a GPU sustains after a quarter of a second of the same work, and its state then.
struct Sustained {
  double per_s = 0;                 // FLOP or bytes per second, as the ceiling counts
  double sm_hz = 0, memory_hz = 0;  // clocks; 0: not known
  double power_w = 0;               // 0: not known
  std::string limited_by;           // reason that held the clocks back, as base/throttle.h words it; empty: not known
};

// Multiply-adds in registers, with one kind of instruction.
struct ComputeCeiling {
  std::string precision;  // type of what is multiplied: fp32, bf16, fp16, int8
  std::string kernel;     // "AVX-512 FMA"
  double flop_per_s = 0;  // sum over all threads; a multiply-add is two operations
  double median_flop_per_s = 0;
  std::optional<Sustained> sustained = {};  // GPU only
};

// Going through `footprint_bytes` again and again, all threads together: the smaller, the nearer the cache that holds it.
struct MemoryCeiling {
  int64_t footprint_bytes = 0;
  double read_bytes_per_s = 0;
  double triad_bytes_per_s = 0;   // a = b + s c: two parts read, one written, as STREAM counts; on a GPU a = b, one read, one written
  double median_bytes_per_s = 0;  // median of the faster of both
  std::optional<Sustained> sustained = {};  // GPU memory only

  double bytes_per_s() const { return read_bytes_per_s > triad_bytes_per_s ? read_bytes_per_s : triad_bytes_per_s; }
};

// Times that a GPU needs for a kernel that does nothing.
struct LaunchCeiling {
  double issue_s = 0;       // time of the thread that queues it
  double in_stream_s = 0;   // device time when queued one by one
  double in_graph_s = 0;    // device time as a node of a CUDA graph
  double round_trip_s = 0;  // from its launch to the host's knowing that it has ended
  double event_s = 0;       // between two events with nothing between them
};

// Ceilings that only a GPU has.
struct GpuCeilings {
  std::string device;                                         // "NVIDIA H100 80GB HBM3"
  int architecture = 0, multiprocessors = 0;                  // compute capability times ten; 0: not known
  int64_t cache_bytes = 0;                                    // size of its second-level cache
  double l1_bytes_per_s = 0, shared_bytes_per_s = 0;          // sum over all multiprocessors; each reads its own
  double to_device_bytes_per_s = 0, to_host_bytes_per_s = 0;  // page-locked
  LaunchCeiling launch;
};

struct Ceilings {
  int threads = 0;  // 0: of a GPU
  std::vector<ComputeCeiling> compute;
  std::vector<MemoryCeiling> memory;  // smallest footprint first; the last one is main memory's
  double seconds = 0;                 // time that the measurement took
  std::optional<GpuCeilings> gpu = {};
  std::vector<std::string> left_out = {};  // ceilings that could not be measured, in words
};

struct CeilingsRequest {
  std::vector<int> cpus;         // a thread stays on each
  int64_t last_cache_bytes = 0;  // size of all last-level caches together; 0: not known
  int64_t memory_bytes = 0;      // memory that may be used
};

// Takes two to six seconds.
Ceilings measure_ceilings(const CeilingsRequest& request);

// Returns whether samples agreed: each arithmetic median is within a fifth of the best. Otherwise something else had the CPUs.
bool is_undisturbed(const Ceilings& ceilings);

// Returns the footprints to measure, of all threads together: from the first-level cache up in steps of two, the last at least four times
// `last_cache_bytes` where `memory_bytes` allow.
std::vector<int64_t> footprints_for(size_t threads, int64_t last_cache_bytes, int64_t memory_bytes);

nlohmann::json ceilings_to_json(const Ceilings& ceilings);
Ceilings ceilings_from_json(const nlohmann::json& json);  // throws Error{input}
nlohmann::json ceilings_request_to_json(const CeilingsRequest& request);
CeilingsRequest ceilings_request_from_json(const nlohmann::json& json);

}  // namespace deepgap
