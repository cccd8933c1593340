// A CpuPlan with memory: ready to run, again and again, without allocating.
#pragma once

#include "engine/cpu/plan.h"

#include <deepgap/clock.h>
#include <deepgap/session.h>

#include <functional>
#include <memory>
#include <span>
#include <vector>

namespace deepgap {

// Memory for buffers, aligned for large pages. Several Executables that never run at the same time may share one.
class Arena {
 public:
  void reserve(size_t bytes);  // grows, losing the content and moving: before any Executable is bound to it
  std::byte* data() const { return data_.get(); }
  size_t bytes() const { return bytes_; }

 private:
  std::shared_ptr<std::byte> data_;
  size_t bytes_ = 0;
};

// One thread at a time.
class Executable {
 public:
  // Plans the memory. bind() must follow before run().
  Executable(CpuPlan plan, const dnnl::engine& engine);

  size_t arena_bytes() const { return arena_bytes_; }
  size_t min_arena_bytes() const { return min_arena_bytes_; }  // the most that lives at one step
  // The arena is as large as arena_bytes() and outlives the Executable.
  void bind(const Arena& arena);

  // Runs on the addresses of the Graph's inputs and outputs, dense row-major.
  void run(const dnnl::stream& stream, std::span<const std::byte* const> inputs, std::span<std::byte* const> outputs);
  // Does the same, adding the time of each step by `now` to `timings`, which stand beside steps().
  void run_timed(const dnnl::stream& stream, std::span<const std::byte* const> inputs, std::span<std::byte* const> outputs,
                 const std::function<Nanoseconds()>& now, std::span<LayerTiming> timings);
  const std::vector<Step>& steps() const { return plan_.steps; }
  const std::vector<Buffer>& buffers() const { return plan_.buffers; }
  const std::map<std::string, int64_t>& macs() const { return plan_.macs; }

 private:
  struct Bound {
    std::vector<dnnl::memory> memories;  // memories of one step; arguments_ refers to them
    std::vector<dnnl_exec_arg_t> arguments;
    std::vector<BufferId> buffers;  // buffers of a function step
    std::vector<std::byte*> addresses;
  };
  struct External {
    bool input;
    size_t position;
    dnnl_memory_t memory;  // memory of a primitive step, or
    std::byte** address;   // address for a function step
  };

  void plan_lifetimes();
  void bind_step(const Step& step, Bound& bound);
  void set_externals(std::span<const std::byte* const> inputs, std::span<std::byte* const> outputs);
  void run_step(size_t index, const dnnl::stream& stream);

  CpuPlan plan_;
  dnnl::engine engine_;
  std::vector<size_t> offsets_;  // per buffer, of those in the arena
  size_t arena_bytes_ = 0, min_arena_bytes_ = 0;
  std::vector<std::byte*> addresses_;  // per buffer; nullptr for external ones
  std::vector<Bound> bound_;
  std::vector<External> externals_;
};

}  // namespace deepgap
