// Flags of the commands that run one network on one engine in a child (`check`, `profile`), and the child that quantizes for them.
#pragma once

#include "worker/quantize_order.h"
#include "worker/sample_outputs.h"

#include <CLI/CLI.hpp>
#include <nlohmann/json_fwd.hpp>

#include <string>
#include <vector>

namespace deepgap {

class EngineFlags {
 public:
  void declare(CLI::App& app, OutputsRequest& request);
  // Checks what was given and completes `request`: threads, cache folder, shapes, options. Throws Error{usage}; with `of_server` where the
  // device is a server, which none of these commands takes.
  void finish(OutputsRequest& request, const std::string& of_server) const;

 private:
  std::vector<std::string> options_, shapes_, inputs_, quantize_;
  std::string isa_, device_, cache_, precision_;
};

// One device of this machine or a server. Throws Error{usage} for others.
DeviceId device_of_flag(const std::string& text);
// Throws Error{usage} for a negative number; 0 becomes the CPUs allowed here.
int threads_or_all(int threads);
// The folder, or the default one; absolute, since children may work elsewhere.
std::string cache_or_default(const std::string& folder);

// Files that the request names are looked at by the reading child (worker/reading.h), before an engine's process reads them. Throws what is
// wrong with them.
void look_at(const OutputsRequest& request);
// Quantizes in a child process, since it runs an engine. Returns what carry_out() reports. Throws Error.
nlohmann::json quantize_in_child(const QuantizeOrder& order);
// If `request` asks for INT8 of an FP32 model, puts its quantized form into the cache.
void provide_quantized(const OutputsRequest& request);

}  // namespace deepgap
