// Machine code of kernels: compiled once a process and text, kept in a folder between processes.
#pragma once

#include "cuda/objects.h"
#include "engine/gpu/launch.h"

#include <deepgap/clock.h>

#include <map>
#include <memory>
#include <mutex>
#include <span>
#include <string>

namespace deepgap::gpu {

// Functions live as long as this. The context is current in the calling thread.
class Kernels {
 public:
  // `folder`: where machine code is kept, by a hash of text, chip and compiler; empty: nowhere. A file that is torn, foreign or of another
  // version is made again. `clock`: of the run, by which compiling is timed; it outlives this. nullptr: it is not.
  Kernels(const Chip& chip, const std::string& folder, const Clock* clock = nullptr);

  // Calls of libraries have no text: nothing is compiled for them, and their function is nullptr.

  // Compiles what is not there yet, on all CPUs. A text that does not compile is left out; function() throws for it.
  void prepare(std::span<const Launch* const> launches);
  // Throws Error{internal} for a text that does not compile.
  cuda::Function function(const Launch& launch);
  bool compiles(const Launch& launch);
  // Loads these launches' machine code into the device, and lets go of all other.
  void keep_only(std::span<const Launch* const> launches);

  int compiled() const { return compiled_; }                  // by the compiler, not from the folder
  Nanoseconds compiling_ns() const { return compiling_ns_; }  // time that callers waited, including reading the folder

 private:
  struct Made {
    std::string cubin, failure;
    std::unique_ptr<cuda::Module> module;
    std::map<std::string, cuda::Function> functions;
  };
  std::string key_of(const Launch& launch) const;
  Made& made(const Launch& launch);
  Nanoseconds now() const { return clock_ == nullptr ? 0 : clock_->now(); }
  void make(const std::string& key, const std::string& source, Made& made);
  std::string path_of(const std::string& key) const;
  bool read(const std::string& key, std::string& cubin) const;

  Chip chip_;
  std::string folder_, salt_;
  std::map<std::string, Made> made_;
  std::mutex mutex_;
  int compiled_ = 0;
  const Clock* clock_;
  Nanoseconds compiling_ns_ = 0;
};

}  // namespace deepgap::gpu
