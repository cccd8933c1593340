// Graphs lowered for a GPU, computed by the emulator and compared with the reference interpreter.
#pragma once

#include "emulator.h"

#include "../conformance/rig.h"
#include "../conformance/tolerance.h"

#include "engine/gpu/lowering.h"
#include "engine/passes/passes.h"

#include <map>
#include <string>
#include <vector>

namespace deepgap::gpu {

struct LoweringSettings {
  GpuNumbers numbers;
  Integers integers = Integers::as_operators;
};

// Returns the Graph as the native engine has it before it is lowered, for Trial::batch samples.
Graph bound_for_trial(const Graph& graph, Integers integers, Element stored = Element::f32);

class Trial {
 public:
  static constexpr int64_t batch = 3;

  Trial(const LoweringSettings& settings, std::string precision);
  // Notes what is refused, and leaves out what has a kernel that the host cannot compile.
  void add(const std::string& name, Graph graph, conformance::Samples samples);
  // All that was added, and prints what was refused.
  void run(const conformance::Judge& judge);
  size_t computed() const { return all_.size(); }

 private:
  struct Tried {
    std::string name;
    Graph graph;
    conformance::Samples samples;
    size_t plan = 0;
    std::vector<Shape> shapes;
    std::vector<DataType> types;
  };
  void expect_right(const Tried& tried, const conformance::Judge& judge) const;

  LoweringSettings settings_;
  std::string precision_;
  Emulator emulator_;
  std::vector<Tried> all_;
  std::map<std::string, std::string> refusals_;
};

}  // namespace deepgap::gpu
